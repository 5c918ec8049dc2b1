// One poll: its order, its bounds, and what callbacks may do to it.
#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace agentcore;
using namespace loop_test;
using detail::loop::Engine;
using detail::loop::IoEvents;

namespace {

using Log = std::vector<std::string>;

}  // namespace

TEST_CASE("a poll runs control first and then descriptors and timers and posts and rounds", "[loop][C13]") {
  testing::ManualClock clock;
  Runtime runtime(with(EACH_BACKEND(), &clock));
  Engine& engine = *detail::loop::engine_of(runtime);
  Log log;
  const auto source = std::make_shared<FakeSource>("a", &log);
  engine.add_source(source);
  source->controls = 1;
  source->steps = 1;
  runtime.post([&] { log.emplace_back("post"); });
  const Timer timer = runtime.call_after(0ns, [&] { log.emplace_back("timer"); });
  const Pipe pipe;
  REQUIRE(pipe.write());
  Handler handler([&](int descriptor, IoEvents) {
    log.emplace_back("io");
    engine.unwatch(descriptor);
  });
  REQUIRE_FALSE(engine.watch(pipe.read_end(), IoEvents::readable, handler));
  CHECK_FALSE(runtime.poll());
  CHECK(log == Log{"a control", "io", "timer", "post", "a step"});
}

TEST_CASE("what has come since is read after old events and before a timer", "[loop][late]") {
  testing::ManualClock clock;
  RuntimeOptions options = with(EACH_BACKEND(), &clock);
  options.poll_budget = 4ms;
  Runtime runtime(std::move(options));
  Engine& engine = *detail::loop::engine_of(runtime);
  Log log;
  const Pipe a, b, c;
  const auto reads = [&](std::string name) {
    return Handler([&, name](int descriptor, IoEvents) {
      log.push_back(name);
      engine.unwatch(descriptor);
      if (log.size() == 1) clock.advance(5ms);  // more than the budget: the other one waits for the next poll
    });
  };
  Handler on_a = reads("io"), on_b = reads("io"), on_c = reads("io since");
  REQUIRE_FALSE(engine.watch(a.read_end(), IoEvents::readable, on_a));
  REQUIRE_FALSE(engine.watch(b.read_end(), IoEvents::readable, on_b));
  REQUIRE_FALSE(engine.watch(c.read_end(), IoEvents::readable, on_c));
  const Timer timer = runtime.call_after(10ms, [&] { log.emplace_back("timer"); });
  REQUIRE(a.write());
  REQUIRE(b.write());
  CHECK(runtime.poll());
  CHECK(log == Log{"io"});
  REQUIRE(c.write());
  clock.advance(20ms);
  runtime.poll();
  CHECK(log == Log{"io", "io", "io since", "timer"});
}

TEST_CASE("control operations run before every round", "[loop][C13]") {
  Runtime runtime(with());
  Log log;
  const auto source = std::make_shared<FakeSource>("a", &log);
  detail::loop::engine_of(runtime)->add_source(source);
  source->steps = 2;
  source->on_step = [&] { source->controls = 1; };
  runtime.poll();
  CHECK(log == Log{"a step", "a control", "a step", "a control"});
}

TEST_CASE("sources run in turn in each round", "[loop][Q5]") {
  Runtime runtime(with());
  Log log;
  const auto a = std::make_shared<FakeSource>("a", &log);
  const auto b = std::make_shared<FakeSource>("b", &log);
  detail::loop::engine_of(runtime)->add_source(a);
  detail::loop::engine_of(runtime)->add_source(b);
  a->steps = 3;
  b->steps = 2;
  CHECK_FALSE(runtime.poll());
  REQUIRE(log.size() == 5);
  for (std::size_t i = 0; i + 1 < 4; ++i) CHECK(log[i] != log[i + 1]);
}

TEST_CASE("a source with endless work neither blocks a poll nor starves the others", "[loop][Q2][Q5]") {
  testing::ManualClock clock;  // time stands still: the steps have to bound it
  Runtime runtime(with(LoopBackend::automatic, &clock));
  const auto greedy = std::make_shared<FakeSource>("greedy");
  const auto modest = std::make_shared<FakeSource>("modest");
  detail::loop::engine_of(runtime)->add_source(greedy);
  detail::loop::engine_of(runtime)->add_source(modest);
  greedy->steps = 1LL << 40;
  modest->steps = 3;
  int posts = 0;
  std::function<void()> again = [&] {
    ++posts;
    runtime.post(again);
  };
  runtime.post(again);
  CHECK(runtime.poll());
  CHECK(greedy->done > 1000);
  CHECK(greedy->done <= 65536);
  CHECK(modest->done == 3);
  CHECK(posts == 1);  // what is posted during a poll waits for the next
  CHECK(runtime.poll());
  CHECK(posts == 2);
}

TEST_CASE("a poll ends when its time is used up and the next poll continues with the next source",
          "[loop][Q2][Q5]") {
  testing::ManualClock clock;
  RuntimeOptions options = with(LoopBackend::automatic, &clock);
  options.poll_budget = 4ms;
  Runtime runtime(std::move(options));
  std::vector<std::shared_ptr<FakeSource>> sources;
  for (int i = 0; i < 3; ++i) {
    sources.push_back(std::make_shared<FakeSource>());
    sources.back()->steps = 100;
    sources.back()->on_step = [&] { clock.advance(5ms); };  // one step is more than the budget
    detail::loop::engine_of(runtime)->add_source(sources.back());
  }
  for (int i = 0; i < 6; ++i) CHECK(runtime.poll());
  for (const auto& source : sources) CHECK(source->done == 2);
}

TEST_CASE("the budget of one poll can be given with the call", "[loop][Q2][G16]") {
  testing::ManualClock clock;
  RuntimeOptions options = with(LoopBackend::automatic, &clock);
  options.poll_budget = 4ms;
  Runtime runtime(std::move(options));
  const auto source = std::make_shared<FakeSource>();
  source->on_step = [&] { clock.advance(1ms); };
  detail::loop::engine_of(runtime)->add_source(source);
  const auto steps_of = [&](auto&& poll) {
    source->steps = 100;
    const auto before = source->done;
    CHECK(poll());
    return source->done - before;
  };
  // The clock is read before the steps 2, 3, 5, 9 and 17.
  CHECK(steps_of([&] { return runtime.poll(2ms); }) == 2);
  CHECK(steps_of([&] { return runtime.poll(16ms); }) == 16);
  CHECK(steps_of([&] { return runtime.poll(); }) == 4);  // the option is what it was
  CHECK(steps_of([&] { return runtime.poll(0ms); }) == 1);
  CHECK(steps_of([&] { return runtime.poll(-1h); }) == 1);
  source->steps = 100;
  CHECK_FALSE(runtime.poll(Duration::max()));
  CHECK(source->steps == 0);
}

TEST_CASE("slow timers and posts leave time for the rest and keep their order", "[loop][Q2]") {
  testing::ManualClock clock;
  RuntimeOptions options = with(LoopBackend::automatic, &clock);
  options.poll_budget = 4ms;
  Runtime runtime(std::move(options));
  const auto source = std::make_shared<FakeSource>();
  source->steps = 3;
  detail::loop::engine_of(runtime)->add_source(source);
  std::vector<int> order;
  std::vector<Timer> timers;
  for (int i = 0; i < 3; ++i) {
    runtime.post([&, i] {
      order.push_back(i);
      clock.advance(10ms);
    });
    timers.push_back(runtime.call_after(0ns, [&, i] {
      order.push_back(10 + i);
      clock.advance(10ms);
    }));
  }
  for (long i = 1; i <= 3; ++i) {
    CHECK(runtime.poll() == (i < 3));
    CHECK(source->done == i);
  }
  CHECK(order == std::vector<int>{10, 0, 11, 1, 12, 2});
}

TEST_CASE("a timer that starts overdue timers does not delay timers that already wait", "[loop][timer]") {
  testing::ManualClock clock;
  Runtime runtime(with(LoopBackend::automatic, &clock));
  Engine& engine = *detail::loop::engine_of(runtime);
  int eager = 0;
  bool patient = false;
  std::function<void()> again = [&] {
    ++eager;
    engine.start_timer(TimePoint(), again);
  };
  engine.start_timer(clock.now() + 1ms, again);
  engine.start_timer(clock.now() + 2ms, [&] { patient = true; });
  clock.advance(5ms);
  CHECK(runtime.poll());
  CHECK(patient);
  CHECK(eager == 1);
}

TEST_CASE("a timer that came due during a callback runs after the events that arrived before it",
          "[loop][timer]") {
  testing::ManualClock clock;
  Runtime runtime(with(EACH_BACKEND(), &clock));
  Engine& engine = *detail::loop::engine_of(runtime);
  int patience_lost = 0, received = 0;
  Timer patience = runtime.call_after(5s, [&] { ++patience_lost; });
  const Pipe late, slow;
  Handler put_off([&](int descriptor, IoEvents) {
    ++received;
    engine.unwatch(descriptor);
    patience = runtime.call_after(5s, [&] { ++patience_lost; });
  });
  Handler busy([&](int descriptor, IoEvents) {
    engine.unwatch(descriptor);
    clock.advance(6s);
    REQUIRE(late.write());
  });
  REQUIRE_FALSE(engine.watch(late.read_end(), IoEvents::readable, put_off));
  REQUIRE_FALSE(engine.watch(slow.read_end(), IoEvents::readable, busy));
  REQUIRE(slow.write());
  runtime.poll();
  runtime.poll();
  CHECK(received == 1);
  CHECK(patience_lost == 0);
  clock.advance(5s);
  runtime.poll();
  CHECK(patience_lost == 1);
}

TEST_CASE("a poll within a callback does nothing", "[loop][Q3]") {
  Runtime runtime(with());
  int runs = 0;
  runtime.post([&] {
    runtime.post([&] { ++runs; });
    CHECK_FALSE(runtime.poll());
    runtime.run_for(1h);
    CHECK_FALSE(runtime.run_until_idle());
    CHECK(runs == 0);
  });
  CHECK(runtime.poll());
  runtime.poll();
  CHECK(runs == 1);
}

TEST_CASE("handlers may unwatch each other within one batch", "[loop][Q3]") {
  Runtime runtime(with(EACH_BACKEND()));
  Engine& engine = *detail::loop::engine_of(runtime);
  const Pipe one, two;
  REQUIRE(one.write());
  REQUIRE(two.write());
  int calls = 0;
  Handler replacement;
  const auto take_over = [&](int, IoEvents) {
    ++calls;
    engine.unwatch(one.read_end());
    engine.unwatch(two.read_end());
    REQUIRE_FALSE(engine.watch(one.read_end(), IoEvents::none, replacement));
    REQUIRE_FALSE(engine.watch(two.read_end(), IoEvents::writable, replacement));
  };
  Handler first(take_over), second(take_over);
  REQUIRE_FALSE(engine.watch(one.read_end(), IoEvents::readable, first));
  REQUIRE_FALSE(engine.watch(two.read_end(), IoEvents::readable, second));
  runtime.poll();
  CHECK(calls == 1);
  CHECK(replacement.calls == 0);
}

TEST_CASE("a source may remove itself and add another while it runs", "[loop][Q3]") {
  Runtime runtime(with());
  Engine& engine = *detail::loop::engine_of(runtime);
  auto first = std::make_shared<FakeSource>();
  const auto second = std::make_shared<FakeSource>();
  const std::weak_ptr<FakeSource> watched = first;
  second->steps = 1;
  first->steps = 5;
  first->on_step = [&, raw = first.get()] {
    engine.remove_source(raw);
    engine.add_source(second);
  };
  engine.add_source(std::move(first));
  CHECK_FALSE(runtime.poll());
  CHECK(second->done == 1);
  CHECK(watched.expired());
}

namespace {

// Notes its end and what was still alive then.
struct EndingSource final : detail::loop::Source {
  explicit EndingSource(Log& record) : log(record) {}
  void run_control(detail::loop::PollBudget&) override {
    log.push_back("control");
    if (on_control) on_control();
  }
  void run_round(detail::loop::PollBudget&) override { log.push_back("round"); }
  bool has_work() const noexcept override { return true; }
  bool has_pending() const noexcept override { return false; }
  void on_engine_closed() noexcept override { log.push_back("closed"); }

  Log& log;
  std::function<void()> on_control;
};

// Notes when a posted function that holds it is destroyed.
struct NotedEnd {
  explicit NotedEnd(Log& record) : log(record) {}
  NotedEnd(const NotedEnd&) = delete;
  NotedEnd& operator=(const NotedEnd&) = delete;
  ~NotedEnd() { log.push_back("post dropped"); }
  Log& log;
};

}  // namespace

TEST_CASE("the end of an engine is reported to each source once before code of the host runs", "[loop][Q3]") {
  Log log;
  auto runtime = std::make_unique<Runtime>(with());
  const std::shared_ptr<Engine> engine = detail::loop::engine_of(*runtime);
  const auto source = std::make_shared<EndingSource>(log);
  const bool in_poll = GENERATE(true, false);
  engine->add_source(source);
  runtime->post([end = std::make_shared<NotedEnd>(log)] {});
  if (in_poll) {
    source->on_control = [&] { runtime.reset(); };
    runtime->poll();
    CHECK(log == Log{"control", "closed", "post dropped"});
  } else {
    runtime.reset();
    CHECK(log == Log{"closed", "post dropped"});
  }
  engine->close();
  CHECK(log.back() == "post dropped");
}

TEST_CASE("an exception of a callback is logged and does not affect other callbacks", "[loop][G16]") {
  Log log;
  RuntimeOptions options = with(EACH_BACKEND());
  options.log = [&](const LogRecord& record) {
    log.push_back(std::string(to_string(record.level)) + ": " + std::string(record.message));
    for (const auto& field : record.fields) log.back() += " " + std::string(field.value);
    throw std::logic_error("the sink throws, too");
  };
  Runtime runtime(std::move(options));
  int runs = 0;
  runtime.post([] { throw std::runtime_error("p"); });
  runtime.post([&] { ++runs; });
  const Timer bad = runtime.call_after(0ns, [] { throw 42; });
  const Timer good = runtime.call_after(0ns, [&] { ++runs; });
  const Pipe pipe;
  REQUIRE(pipe.write());
  Handler handler([&](int descriptor, IoEvents) {
    detail::loop::engine_of(runtime)->unwatch(descriptor);
    throw std::runtime_error("h");
  });
  REQUIRE_FALSE(detail::loop::engine_of(runtime)->watch(pipe.read_end(), IoEvents::readable, handler));
  const auto source = std::make_shared<FakeSource>();
  source->steps = 2;
  source->on_step = [] { throw std::runtime_error("s"); };
  detail::loop::engine_of(runtime)->add_source(source);
  CHECK_FALSE(runtime.poll());
  CHECK(runs == 2);
  CHECK(source->done == 2);
  CHECK(log == Log{"error: a callback threw an i/o handler h",
                   "error: a callback threw a timer not a std::exception",
                   "error: a callback threw a posted function p", "error: a callback threw a source s",
                   "error: a callback threw a source s"});
}

TEST_CASE("a log sink that logs does not recurse", "[loop][G16]") {
  int records = 0;
  Engine* engine = nullptr;
  RuntimeOptions options;
  options.log = [&](const LogRecord&) {
    ++records;
    engine->log(LogLevel::info, "again");
  };
  const Runtime runtime(std::move(options));
  engine = detail::loop::engine_of(runtime).get();
  engine->log(LogLevel::info, "once");
  engine->log(LogLevel::info, "twice");
  CHECK(records == 2);
}
