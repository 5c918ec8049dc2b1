// A loop of the host that runs inside a callback: it is not kept busy, and nothing is lost.
#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

using namespace agentcore;
using namespace loop_test;
using detail::loop::IoEvents;

namespace {

// A foreign loop with an adapter to the Runtime. Instead of going to sleep it returns.
struct HostLoop {
  explicit HostLoop(Runtime& driven) : runtime(driven) {}

  // How often the loop woke up before it could sleep; 1000: it never could.
  int run() const {
    int wakes = 0;
    for (; wakes < 1000 && is_awake(); ++wakes) runtime.poll();
    return wakes;
  }
  bool is_awake() const {
    const int descriptor = runtime.poll_descriptor();
    REQUIRE(descriptor >= 0);
    const auto deadline = runtime.next_deadline();
    return readable(descriptor) || (deadline && *deadline <= runtime.now());
  }

  Runtime& runtime;
};

// A Runtime with something to do of every kind, and more to come.
struct BusyHost {
  explicit BusyHost(LoopBackend backend) : runtime(with(backend, &clock)) {
    REQUIRE_FALSE(detail::loop::engine_of(runtime)->watch(pipe.read_end(), IoEvents::readable, handler));
    detail::loop::engine_of(runtime)->add_source(source);
  }

  // Brings work of every kind, part of it from another thread.
  void bring_work() {
    REQUIRE(pipe.write());
    timer = runtime.call_after(0ns, [this] { ++timers; });
    source->steps = 1;
    detail::loop::engine_of(runtime)->waker()->notify();
    std::thread([this] { runtime.post([this] { ++posts; }); }).join();
  }
  bool all_done() const { return handler.calls == 1 && timers == 1 && posts == 1 && source->done == 1; }

  testing::ManualClock clock;
  Runtime runtime;
  HostLoop loop{runtime};
  Pipe pipe;
  Handler handler{[this](int, IoEvents) { REQUIRE(pipe.read()); }};
  std::shared_ptr<FakeSource> source = std::make_shared<FakeSource>();
  Timer timer;
  int timers = 0, posts = 0;
};

// What a dialog within a callback sees: work that was there before, and work that comes while it is open.
void open_dialog(BusyHost& host) {
  CHECK(host.loop.run() <= 1);
  host.bring_work();
  CHECK(host.loop.run() <= 1);
  host.clock.advance(1h);
  CHECK(host.loop.run() == 0);
  CHECK(host.handler.calls + host.timers + host.posts + host.source->done == 0);
}

}  // namespace

TEST_CASE("a nested loop in a callback wakes up at most once and all work is done after the callback",
          "[loop][Q2][Q3]") {
  const auto backend = EACH_BACKEND();
  BusyHost host(backend);
  const std::string place = GENERATE("post", "timer", "io", "step", "control");
  const bool asked_before = GENERATE(true, false);
  CAPTURE(place, asked_before);
  if (asked_before) host.loop.is_awake();
  int dialogs = 0;
  const auto dialog = [&] {
    if (dialogs++ == 0) open_dialog(host);
  };
  const Pipe other;
  Handler reads([&](int descriptor, IoEvents) {
    detail::loop::engine_of(host.runtime)->unwatch(descriptor);
    dialog();
  });
  REQUIRE_FALSE(detail::loop::engine_of(host.runtime)->watch(other.read_end(), IoEvents::readable, reads));
  const auto source = std::make_shared<FakeSource>();
  source->on_step = source->on_control = dialog;
  detail::loop::engine_of(host.runtime)->add_source(source);
  Timer timer;
  if (place == "post") host.runtime.post(dialog);
  if (place == "timer") timer = host.runtime.call_after(0ns, dialog);
  if (place == "io") REQUIRE(other.write());
  if (place == "step") source->steps = 1;
  if (place == "control") source->controls = 1;
  host.runtime.poll();
  REQUIRE(dialogs == 1);
  CHECK(host.loop.run() < 10);
  if (backend == LoopBackend::poll) host.runtime.poll();  // its descriptor does not stand for the pipe
  CHECK(host.all_done());
  CHECK_FALSE(host.loop.is_awake());
}

TEST_CASE("a nested loop in an observer that is called outside of a poll wakes up once at most",
          "[loop][Q3]") {
  BusyHost host(EACH_BACKEND());
  if (GENERATE(true, false)) host.bring_work();
  if (host.source->steps == 0) {
    REQUIRE(detail::loop::engine_of(host.runtime)->guarded("an observer", [&] { open_dialog(host); }));
  } else {
    REQUIRE(detail::loop::engine_of(host.runtime)->guarded("an observer", [&] {
      CHECK(host.loop.run() <= 1);
      CHECK(host.loop.run() == 0);
    }));
  }
  CHECK(host.loop.is_awake());
  CHECK(host.loop.run() < 10);
  CHECK(host.all_done());
}

TEST_CASE("a host that relies on on_wake alone is woken after a nested loop for work that arrived in it",
          "[loop][Q2][Q3]") {
  Runtime runtime(with(EACH_BACKEND()));
  int wakes = 0, runs = 0;
  const auto subscription = runtime.on_wake([&] { ++wakes; });
  const auto dialog = [&] {
    wakes = 0;
    runtime.post([&] { ++runs; });
    if (wakes > 0) CHECK_FALSE(runtime.poll());  // the nested loop got the message, and asks in vain
    wakes = 0;
    CHECK_FALSE(runtime.poll());
    runtime.post([&] { ++runs; });
    CHECK(wakes == 0);
  };
  if (GENERATE(true, false))
    detail::loop::engine_of(runtime)->guarded("an observer", dialog);
  else {
    runtime.post(dialog);
    runtime.poll();
  }
  CHECK(wakes == 1);
  runtime.poll();
  CHECK(runs == 2);
}

TEST_CASE("next_deadline in a callback is nullopt: nothing can be done before it returns", "[loop][Q2]") {
  testing::ManualClock clock;
  Runtime runtime(with(LoopBackend::automatic, &clock));
  const Timer timer = runtime.call_after(1h, [] {});
  bool asked = false;
  runtime.post([&] {
    runtime.post([] {});
    CHECK_FALSE(runtime.next_deadline());
    asked = true;
  });
  runtime.poll();
  CHECK(asked);
  CHECK(runtime.next_deadline() == clock.now());
  runtime.poll();
  CHECK(runtime.next_deadline() == clock.now() + 1h);
}

TEST_CASE("a dialog that is posted to the host's loop does not block the agents", "[loop][Q3]") {
  Runtime runtime(with());
  testing::ScriptedClient llm(runtime);
  AgentTree tree(runtime, {.llm = &llm});
  const Agent asker = *tree.create({.id = "asker"});
  const Agent other = *tree.create({.id = "other"});
  std::function<void()> posted;  // the host's own queue
  int ended = 0;
  const auto events = tree.on_event([&](const Event& event) {
    if (event.get<TurnEnded>() == nullptr) return;
    ++ended;
    if (event.agent() != asker || ended > 1) return;
    posted = [&] {
      static_cast<void>(other.send("go on"));
      static_cast<void>(asker.send("and you"));
      while (ended < 3) runtime.run_for(0ns);  // the dialog's own loop
    };
  });
  REQUIRE(asker.send("hello"));
  while (!posted) runtime.run_for(0ns);
  posted();
  CHECK(ended == 3);
}

TEST_CASE("a Runtime may be destroyed in a nested loop", "[loop][Q3]") {
  const auto backend = EACH_BACKEND();
  auto runtime = std::make_unique<Runtime>(with(backend));
  const auto engine = detail::loop::engine_of(*runtime);
  const bool in_poll = GENERATE(true, false);
  const auto dialog = [&] {
    CHECK(runtime->poll_descriptor() >= 0);
    CHECK_FALSE(runtime->poll());
    runtime.reset();
    CHECK_FALSE(engine->driver()->poll());
    CHECK_FALSE(engine->driver()->next_deadline());
  };
  if (in_poll) {
    engine->post(dialog);
    CHECK_FALSE(engine->driver()->poll());
  } else {
    engine->guarded("an observer", dialog);
  }
  CHECK(runtime == nullptr);
}
