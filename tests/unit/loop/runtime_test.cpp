// Runtime as a host sees it: its life, its foreign-loop interface, its threads.
#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/drive/latch.hpp"
#include "support/drive/loop_fixture.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace loop_test;
using detail::loop::IoEvents;

TEST_CASE("a runtime opens no descriptor before something has to be waited for", "[loop][G16]") {
  const auto before = open_descriptors();
  {
    Runtime runtime(with(EACH_BACKEND()));
    runtime.post([] {});
    const Timer timer = runtime.call_after(0ns, [] {});
    runtime.poll();
    CHECK(runtime.run_until_idle());
    CHECK(open_descriptors() == before);
    CHECK(runtime.poll_descriptor() >= 0);
    CHECK(open_descriptors() > before);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("the descriptor is readable exactly when there is work", "[loop][Q2]") {
  Runtime runtime(with(EACH_BACKEND()));
  const bool posted_before = GENERATE(true, false);
  if (posted_before) runtime.post([] {});
  const int descriptor = runtime.poll_descriptor();
  REQUIRE(descriptor >= 0);
  CHECK(readable(descriptor) == posted_before);
  runtime.poll();
  CHECK_FALSE(readable(descriptor));

  int rounds = 3;
  std::function<void()> again = [&] {
    if (--rounds > 0) runtime.post(again);
  };
  runtime.post(again);
  CHECK(readable(descriptor));
  while (rounds > 0) {
    const bool more = runtime.poll();
    CHECK(more == (rounds > 0));
    CHECK(readable(descriptor) == (rounds > 0));
  }
  const auto source = std::make_shared<FakeSource>();
  source->controls = 1;
  detail::loop::engine_of(runtime)->add_source(source);
  CHECK(readable(descriptor));
  CHECK_FALSE(runtime.poll());
  CHECK_FALSE(readable(descriptor));
}

TEST_CASE("work that another thread posts just after the last check is not lost", "[loop][Q4]") {
  Runtime runtime(with(EACH_BACKEND()));
  const int descriptor = runtime.poll_descriptor();
  const auto source = std::make_shared<FakeSource>();
  detail::loop::engine_of(runtime)->add_source(source);
  int looks = 0;
  source->on_look = [&] { ++looks; };
  runtime.poll();
  // Whichever check of a poll is the last: work that comes right after it must be noticed.
  for (int last = looks; last > 0; --last) {
    looks = 0;
    source->on_look = [&, last] {
      if (++looks != last) return;
      source->steps = 1;
      detail::loop::engine_of(runtime)->waker()->notify();
    };
    const bool more = runtime.poll();
    CHECK(readable(descriptor) == (source->steps > 0));
    CHECK((more || readable(descriptor) || source->steps == 0));
    source->on_look = nullptr;
    runtime.poll();
    CHECK(source->steps == 0);
  }
}

TEST_CASE("with epoll the descriptor stands for all watched ones", "[loop][Q2][epoll]") {
  Runtime runtime(with(LoopBackend::epoll));
  const Pipe pipe;
  Handler handler([&](int, IoEvents) { REQUIRE(pipe.read()); });
  REQUIRE_FALSE(detail::loop::engine_of(runtime)->watch(pipe.read_end(), IoEvents::readable, handler));
  const int descriptor = runtime.poll_descriptor();
  CHECK_FALSE(readable(descriptor));
  REQUIRE(pipe.write());
  CHECK(readable(descriptor));
  runtime.poll();
  CHECK(handler.calls == 1);
  CHECK_FALSE(readable(descriptor));
}

TEST_CASE("the descriptor opened within a callback is silent when nothing is left", "[loop][Q2]") {
  Runtime runtime(with(EACH_BACKEND()));
  int descriptor = -1;
  runtime.post([&] { descriptor = runtime.poll_descriptor(); });
  runtime.poll();
  REQUIRE(descriptor >= 0);
  CHECK_FALSE(readable(descriptor));
}

TEST_CASE("on_wake is called once when an idle loop gets work and again when a poll leaves some",
          "[loop][Q2]") {
  Runtime runtime(with(EACH_BACKEND()));
  int wakes = 0;
  const auto subscription = runtime.on_wake([&] { ++wakes; });
  runtime.post([] {});
  runtime.post([&] { runtime.post([] {}); });
  CHECK(wakes == 1);
  CHECK(runtime.poll());
  CHECK(wakes == 2);
  CHECK_FALSE(runtime.poll());
  CHECK(wakes == 2);
}

TEST_CASE("a throwing on_wake is reported by the next poll", "[loop][G16]") {
  int records = 0;
  RuntimeOptions options;
  options.log = [&](const LogRecord&) { ++records; };
  Runtime runtime(std::move(options));
  const auto subscription = runtime.on_wake([] { throw 1; });
  runtime.post([] {});
  runtime.poll();
  CHECK(records == 1);
}

TEST_CASE("next_deadline is the first timer or now if work is ready", "[loop][Q2]") {
  testing::ManualClock clock;
  Runtime runtime(with(LoopBackend::automatic, &clock));
  CHECK_FALSE(runtime.next_deadline());
  Timer late = runtime.call_after(20ms, [] {});
  {
    const Timer early = runtime.call_after(10ms, [] {});
    CHECK(runtime.next_deadline() == clock.now() + 10ms);
  }
  CHECK(runtime.next_deadline() == clock.now() + 20ms);
  clock.advance(30ms);
  CHECK(runtime.next_deadline() == clock.now());
  runtime.poll();
  CHECK_FALSE(runtime.next_deadline());
  runtime.post([] {});
  CHECK(runtime.next_deadline() == clock.now());
}

TEST_CASE("a timer that is dropped or overwritten or cancelled does not run", "[loop][timer]") {
  testing::ManualClock clock;
  Runtime runtime(with(LoopBackend::automatic, &clock));
  int runs = 0;
  {
    const Timer dropped = runtime.call_after(1ms, [&] { ++runs; });
  }
  Timer timer = runtime.call_after(1ms, [&] { ++runs; });
  timer = runtime.call_after(2ms, [&] { runs += 10; });
  Timer cancelled = runtime.call_after(1ms, [&] { ++runs; });
  CHECK(cancelled.cancel());
  CHECK_FALSE(cancelled.cancel());
  Timer endless = runtime.call_after(Duration::max(), [&] { ++runs; });
  clock.advance(5ms);
  runtime.poll();
  CHECK(runs == 10);
  CHECK_FALSE(timer.cancel());
}

TEST_CASE("a Runtime may be destroyed in any callback and the remaining callbacks do not run", "[loop][Q3]") {
  const auto backend = EACH_BACKEND();
  const std::string place = GENERATE("post", "timer", "io", "control", "step");
  CAPTURE(place);
  const auto before = open_descriptors();
  auto runtime = std::make_unique<Runtime>(with(backend));
  const auto engine = detail::loop::engine_of(*runtime);
  int after = 0;
  const auto destroy = [&] { runtime.reset(); };
  const Pipe pipe;
  REQUIRE(pipe.write());
  Handler handler([&](int, IoEvents) { place == "io" ? destroy() : engine->unwatch(pipe.read_end()); });
  REQUIRE_FALSE(engine->watch(pipe.read_end(), IoEvents::readable, handler));
  auto source = std::make_shared<FakeSource>();
  source->on_control = [&] {
    if (place == "control") destroy();
  };
  source->on_step = [&] { place == "step" ? destroy() : void(++after); };
  source->controls = 1;
  source->steps = 3;
  const std::weak_ptr<FakeSource> watched = source;
  engine->add_source(std::move(source));
  if (place == "post") runtime->post(destroy);
  Timer timer = runtime->call_after(0ns, [&] {
    if (place == "timer") destroy();
  });
  Timer later = runtime->call_after(1h, [&] { ++after; });

  runtime->run_for(1h);

  CHECK(runtime == nullptr);
  CHECK(after == 0);
  CHECK(watched.expired());
  CHECK_FALSE(later.cancel());
  engine->post([&] { ++after; });
  CHECK_FALSE(engine->driver()->poll());
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> posted = held;
  engine->post([kept = std::move(held)] {});
  CHECK(posted.expired());
  CHECK(engine->start_timer(engine->now(), [&] { ++after; }) == 0);
  CHECK(engine->driver()->poll_descriptor() == -1);
  CHECK(open_descriptors() == before + 2);  // the pipe
  CHECK(after == 0);
}

TEST_CASE(
    "pending posts and timers are dropped uncalled and the destructors of their captures may use the Runtime",
    "[loop][Q3]") {
  auto runtime = std::make_unique<Runtime>(with());
  const auto engine = detail::loop::engine_of(*runtime);
  int dropped = 0;
  const auto tattler = [&] {
    return std::shared_ptr<void>(nullptr, [&](void*) {
      ++dropped;
      engine->post([] {});
      engine->cancel_timer(1);
      engine->unwatch(0);
      engine->close();
    });
  };
  runtime->post([held = tattler()] { FAIL("called"); });
  {
    const Timer at_once = runtime->call_after(1h, [held = tattler()] { FAIL("called"); });
  }
  Timer timer = runtime->call_after(1h, [held = tattler()] { FAIL("called"); });
  runtime.reset();
  CHECK(dropped == 3);
}

TEST_CASE("a service is made once and released by close at the end of a poll", "[loop][Q3]") {
  struct Service {
    int value = 7;
  };
  auto runtime = std::make_unique<Runtime>(with());
  const auto engine = detail::loop::engine_of(*runtime);
  std::weak_ptr<Service> watched = engine->service<Service>([] { return std::make_shared<Service>(); });
  CHECK(engine->service<Service>([] { return std::make_shared<Service>(); }) == watched.lock());
  runtime->post([&] {
    Service& service = *watched.lock();
    runtime.reset();
    CHECK(service.value == 7);
    CHECK_FALSE(watched.expired());
  });
  engine->driver()->poll();
  CHECK(watched.expired());
}

TEST_CASE("posts from many threads all run and those of each thread run in order", "[loop][threads][Q4]") {
  Runtime runtime(with(EACH_BACKEND()));
  constexpr int threads = 4;
  constexpr int each = 5000;
  std::vector<int> next(threads, 0);
  bool ordered = true;
  int left = threads * each;
  agentcore::test::Latch start(threads);
  std::vector<std::thread> senders;
  for (int t = 0; t < threads; ++t)
    senders.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int i = 0; i < each; ++i)
        runtime.post([&, t, i] {
          ordered = ordered && next[static_cast<std::size_t>(t)]++ == i;
          --left;
        });
    });
  const int descriptor = runtime.poll_descriptor();
  while (left > 0) {
    wait_readable(descriptor);  // a lost wake-up sleeps here for ever
    runtime.poll();
  }
  for (auto& sender : senders) sender.join();
  CHECK(ordered);
}

TEST_CASE("posts may race with the destructor of the Runtime", "[loop][threads][Q4]") {
  for (int i = 0; i < 200; ++i) {
    auto runtime = std::make_unique<Runtime>(with(EACH_BACKEND()));
    const auto engine = detail::loop::engine_of(*runtime);
    runtime->poll_descriptor();
    agentcore::test::Latch start(2);
    std::thread sender([&] {
      start.arrive_and_wait();
      for (int k = 0; k < 50; ++k) engine->post([] {});
    });
    start.arrive_and_wait();
    runtime->poll();
    runtime.reset();
    sender.join();
  }
}

TEST_CASE("the loop thread is the one that polls", "[loop]") {
  Runtime runtime;
  CHECK(runtime.on_loop_thread());
  std::thread([&] {
    CHECK_FALSE(runtime.on_loop_thread());
    runtime.poll();
    CHECK(runtime.on_loop_thread());
  }).join();
  CHECK_FALSE(runtime.on_loop_thread());
}

TEST_CASE("the same seed gives the same numbers", "[loop][Q8]") {
  Runtime one(with(LoopBackend::automatic));
  Runtime two(with(LoopBackend::automatic));
  Runtime random_one, random_two;
  const auto value = one.random();
  CHECK(value == two.random());
  CHECK(value != one.random());
  CHECK(random_one.random() != random_two.random());
}
