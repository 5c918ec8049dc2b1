// run_for() and run_until_idle(), with real time and with time moved by hand.
#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace loop_test;
using detail::loop::IoEvents;

TEST_CASE("run_for moves a manual clock from timer to timer", "[loop][Q8]") {
  testing::ManualClock clock;
  Runtime runtime(with(EACH_BACKEND(), &clock));
  std::vector<Duration> fired;
  const auto note = [&] { fired.push_back(clock.now().time_since_epoch()); };
  std::vector<Timer> timers;
  timers.push_back(runtime.call_after(3h, note));
  timers.push_back(runtime.call_after(1h, [&] {
    note();
    timers.push_back(runtime.call_after(1h, note));
  }));
  timers.push_back(runtime.call_after(4h, note));
  timers.push_back(runtime.call_after(4h + 1ns, note));
  runtime.run_for(4h);
  CHECK(fired == std::vector<Duration>{1h, 2h, 3h, 4h});
  CHECK(clock.now().time_since_epoch() == 4h);
}

TEST_CASE("run_for with a manual clock serves descriptors and never sleeps", "[loop][Q8]") {
  testing::ManualClock clock;
  Runtime runtime(with(EACH_BACKEND(), &clock));
  const Pipe pipe, silent;
  Handler handler([&](int, IoEvents) { REQUIRE(pipe.read()); });
  REQUIRE_FALSE(detail::loop::engine_of(runtime)->watch(pipe.read_end(), IoEvents::readable, handler));
  REQUIRE_FALSE(detail::loop::engine_of(runtime)->watch(silent.read_end(), IoEvents::readable, handler));
  const Timer timer = runtime.call_after(1h, [&] { REQUIRE(pipe.write()); });
  runtime.run_for(24h);
  runtime.run_for(0ns);
  CHECK(handler.calls == 1);
}

TEST_CASE("run_for sleeps until another thread posts work", "[loop][threads][Q4]") {
  auto runtime = std::make_unique<Runtime>(with(EACH_BACKEND()));
  const auto engine = detail::loop::engine_of(*runtime);
  std::thread other([&] { engine->post([&] { runtime.reset(); }); });
  runtime->run_for(24h);
  CHECK(runtime == nullptr);
  other.join();
}

TEST_CASE("run_for sleeps until a descriptor or a timer is ready", "[loop]") {
  auto runtime = std::make_unique<Runtime>(with(EACH_BACKEND()));
  const Pipe pipe;
  Handler handler([&](int, IoEvents) { runtime.reset(); });
  REQUIRE_FALSE(detail::loop::engine_of(*runtime)->watch(pipe.read_end(), IoEvents::readable, handler));
  const Timer timer = runtime->call_after(1ms, [&] { REQUIRE(pipe.write()); });
  runtime->run_for(24h);
  CHECK(runtime == nullptr);
}

TEST_CASE("run_for returns after its time and polls at least once", "[loop]") {
  Runtime runtime(with(EACH_BACKEND()));
  bool ran = false;
  runtime.post([&] { ran = true; });
  runtime.run_for(0ns);
  CHECK(ran);
  const auto begin = runtime.now();
  runtime.run_for(2ms);
  CHECK(runtime.now() - begin >= 2ms);
}

TEST_CASE("run_until_idle runs timers and the work that they start", "[loop][Q8]") {
  testing::ManualClock clock;
  Runtime runtime(with(EACH_BACKEND(), &clock));
  const auto source = std::make_shared<FakeSource>();
  detail::loop::engine_of(runtime)->add_source(source);
  Timer second;
  const Timer first = runtime.call_after(
      10s, [&] { second = runtime.call_after(10s, [&] { runtime.post([&] { source->steps = 3; }); }); });
  CHECK(runtime.run_until_idle());
  CHECK(source->done == 3);
  CHECK(clock.now().time_since_epoch() == 20s);
}

TEST_CASE("run_until_idle has no limit unless it is given one", "[loop][Q8]") {
  testing::ManualClock clock;
  Runtime runtime(with(EACH_BACKEND(), &clock));
  bool fired = false;
  const Timer timer = runtime.call_after(24h, [&] { fired = true; });
  const RunResult run = runtime.run_until_idle();
  CHECK(run.reason == RunEnd::idle);
  CHECK(fired);
  CHECK(clock.now().time_since_epoch() == 24h);
}

TEST_CASE("run_until_idle says why it returned", "[loop][Q8]") {
  testing::ManualClock clock;
  auto runtime = std::make_unique<Runtime>(with(EACH_BACKEND(), &clock));
  CHECK(runtime->run_until_idle().reason == RunEnd::idle);
  const Timer timer = runtime->call_after(2min, [] {});
  CHECK(runtime->run_until_idle(1min).reason == RunEnd::limit);
  RunEnd within = RunEnd::idle, on_other_thread = RunEnd::idle;
  runtime->post([&] {
    std::thread([&] { on_other_thread = runtime->run_until_idle().reason; }).join();
    within = runtime->run_until_idle().reason;
  });
  CHECK(runtime->run_until_idle().reason == RunEnd::idle);
  CHECK(within == RunEnd::in_callback);
  CHECK(on_other_thread == RunEnd::wrong_thread);
  runtime->post([&] { runtime.reset(); });
  Runtime& gone = *runtime;
  const RunResult last = gone.run_until_idle();
  CHECK(last.reason == RunEnd::runtime_gone);
  CHECK_FALSE(last);
  CHECK(to_string(RunEnd::in_callback) == "in_callback");
  CHECK(to_string(RunEnd::runtime_gone) == "runtime_gone");
}

TEST_CASE("run_until_idle gives up at its limit", "[loop][Q8]") {
  testing::ManualClock clock;
  Runtime runtime(with(EACH_BACKEND(), &clock));
  bool fired = false;
  const Timer timer = runtime.call_after(2min, [&] { fired = true; });
  CHECK_FALSE(runtime.run_until_idle(1min));
  CHECK_FALSE(fired);
  CHECK(clock.now().time_since_epoch() == 1min);
  CHECK(runtime.run_until_idle(1min));
  CHECK(fired);
}

TEST_CASE("run_until_idle waits for pending operations with every clock", "[loop][threads]") {
  testing::ManualClock clock;
  const bool by_hand = GENERATE(true, false);
  Runtime runtime(with(EACH_BACKEND(), by_hand ? &clock : nullptr));
  const auto source = std::make_shared<FakeSource>();
  source->pending = true;
  detail::loop::engine_of(runtime)->add_source(source);
  detail::loop::engine_of(runtime)->add_pending(1);
  const Pipe pipe;
  Handler handler([&](int descriptor, IoEvents) {
    detail::loop::engine_of(runtime)->unwatch(descriptor);
    detail::loop::engine_of(runtime)->add_pending(-1);
  });
  REQUIRE_FALSE(detail::loop::engine_of(runtime)->watch(pipe.read_end(), IoEvents::readable, handler));
  std::thread other([&] {
    if (!pipe.write()) return;
    runtime.post([&] { source->pending = false; });
  });
  CHECK(runtime.run_until_idle());
  other.join();
  CHECK(handler.calls == 1);
  CHECK_FALSE(source->pending);
}

TEST_CASE("run_until_idle with something pending for ever returns at its limit", "[loop]") {
  testing::ManualClock clock;
  const bool by_hand = GENERATE(true, false);
  Runtime runtime(with(EACH_BACKEND(), by_hand ? &clock : nullptr));
  detail::loop::engine_of(runtime)->add_pending(1);
  CHECK_FALSE(runtime.run_until_idle(1ms));
}

TEST_CASE("run_for with a manual clock returns however much work is left", "[loop][Q8]") {
  testing::ManualClock clock;
  Runtime runtime(with(EACH_BACKEND(), &clock));
  const std::string kind = GENERATE("post", "timer", "step", "none");
  CAPTURE(kind);
  long calls = 0;
  std::function<void()> post_again = [&] {
    ++calls;
    runtime.post(post_again);
  };
  Timer timer;
  std::function<void()> start_again = [&] {
    ++calls;
    timer = runtime.call_after(0ns, start_again);
  };
  const auto source = std::make_shared<FakeSource>();
  if (kind == "post") post_again();
  if (kind == "timer") start_again();
  detail::loop::engine_of(runtime)->add_source(source);
  source->on_step = [&] { ++calls; };
  if (kind == "step") source->steps = 1LL << 40;
  // The work that never ends does not change when the others are called.
  std::vector<Duration> fired;
  Timer hourly;
  std::function<void()> note = [&] {
    fired.push_back(clock.now().time_since_epoch());
    hourly = runtime.call_after(1h, note);
  };
  hourly = runtime.call_after(1h, note);
  runtime.run_for(4h);
  CHECK(fired == std::vector<Duration>{1h, 2h, 3h, 4h});
  CHECK(clock.now().time_since_epoch() == 4h);
  if (kind != "none") {
    CHECK(calls > 4);
    const long before = calls;
    runtime.run_for(0ns);
    CHECK(calls > before);
    CHECK_FALSE(runtime.run_until_idle(1h));
    CHECK(clock.now().time_since_epoch() == 5h);
  }
}

TEST_CASE("run_for with a manual clock polls until nothing is ready before it advances the clock",
          "[loop][Q8]") {
  testing::ManualClock clock;
  Runtime runtime(with(EACH_BACKEND(), &clock));
  int left = 900;
  std::function<void()> again = [&] {
    if (--left > 0) runtime.post(again);
  };
  runtime.post(again);
  const Timer timer = runtime.call_after(1h, [&] {
    CHECK(left == 0);
    left = 900;
    runtime.post(again);
  });
  runtime.run_for(1h);
  CHECK(left == 0);
}

#ifndef RACES_WATCHED  // ThreadSanitizer lets no allocation fail
TEST_CASE("without memory run_for says so, and the next call goes on", "[loop][G16]") {
  bool lacked = false;
  for (std::size_t n = 1, failed = 1; failed != 0; ++n) {
    Runtime runtime(with(EACH_BACKEND(), nullptr));
    int fired = 0;
    const Timer timer = runtime.call_after(Duration(1), [&] { ++fired; });
    const Timer later = runtime.call_after(1ms, [&] { ++fired; });
    RunEnd end = RunEnd::idle;
    {
      const test::FailingAllocation none(n);
      end = runtime.run_for(2ms);
      failed = none.failed() ? 1 : 0;
    }
    CHECK((end == RunEnd::limit || end == RunEnd::out_of_memory));
    lacked = lacked || end == RunEnd::out_of_memory;
    CHECK(runtime.run_until_idle(std::chrono::seconds(10)));
    CHECK(fired == 2);
  }
  CHECK(lacked);
}
#endif

TEST_CASE("run_for says why it returned", "[loop]") {
  testing::ManualClock clock;
  auto runtime = std::make_unique<Runtime>(with(EACH_BACKEND(), &clock));
  CHECK(runtime->run_for(1h) == RunEnd::limit);
  RunEnd within = RunEnd::idle;
  runtime->post([&] { within = runtime->run_for(1h); });
  CHECK(runtime->run_for(1h) == RunEnd::limit);
  CHECK(within == RunEnd::in_callback);
  Runtime& gone = *runtime;
  gone.post([&] { runtime.reset(); });
  CHECK(gone.run_for(1h) == RunEnd::runtime_gone);
}
