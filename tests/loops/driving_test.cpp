// What each adapter does: the loop of the host drives agentcore, and each of them leaves time to the other.
#include "loops/driven.hpp"
#include "support/catch.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace loops_test;

TEST_CASE("a function that another thread posts is called by the host's loop", "[loops][Q2]") {
  Driven driven;
  std::thread::id called;
  std::thread other;
  driven.host->call_after(0ms, [&] {
    other = std::thread([&] { driven.runtime->post([&] { called = std::this_thread::get_id(); }); });
  });
  driven.turn_until([&] { return called != std::thread::id(); });
  other.join();
  CHECK(called == std::this_thread::get_id());
}

TEST_CASE("another thread wakes the host's loop again and again", "[loops][Q2]") {
  Driven driven;
  constexpr int wanted = 1000;
  std::atomic<int> called = 0;
  std::thread other([&] {
    for (int i = 0; i < wanted; ++i) {
      driven.runtime->post([&] {
        ++called;
        called.notify_one();
      });
      called.wait(i);
    }
  });
  driven.turn_until([&] { return called == wanted; });
  other.join();
  CHECK(called == wanted);
}

TEST_CASE("timers are called by the host's loop in their order and not before their time", "[loops][Q2]") {
  Driven driven;
  std::vector<std::string> called;
  const TimePoint start = driven.runtime->now();
  bool early = false;
  const auto timer = [&](Duration delay, const char* name) {
    return driven.runtime->call_after(delay, [&, delay, name] {
      early = early || driven.runtime->now() - start < delay;
      called.emplace_back(name);
    });
  };
  const Timer never = timer(1h, "never"), second = timer(20ms, "second"), first = timer(5ms, "first");
  Timer cancelled = timer(1ms, "cancelled");
  CHECK(cancelled.cancel());
  driven.turn_until([&] { return called.size() == 2; });
  CHECK(called == std::vector<std::string>{"first", "second"});
  CHECK_FALSE(early);
}

TEST_CASE("a stop on another thread ends an answer that the host's loop receives", "[loops][G1][Q2]") {
  Driven driven;
  const Agent agent = driven.stream();
  VerbResult result;
  std::thread other([&] { result = agent.stop(); });
  driven.turn_until([&] { return agent.state().value() == AgentState::stopped; });
  other.join();
  CHECK(result.took_effect());
  CHECK(driven.ended == 1);
  CHECK(driven.llm->open_calls() == 0);
}

TEST_CASE("a stop on another thread is settled where nothing else wakes the host's loop", "[loops][Q2]") {
  Driven driven;
  driven.llm.emplace(*driven.runtime);
  driven.tree.emplace(*driven.runtime, TreeOptions{.llm = &*driven.llm});
  const Agent agent = driven.tree->create().value();
  bool settled = false;
  driven.events = driven.tree->on_event(
      [&](const Event& event) { settled = settled || event.get<Settled>() != nullptr; });
  std::thread other;
  driven.host->call_after(0ms, [&] { other = std::thread([&] { CHECK(agent.stop().took_effect()); }); });
  driven.turn_until([&] { return settled; });
  other.join();
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("endless work of agentcore does not keep the host's loop from its own events", "[loops][G16]") {
  Driven driven;
  long posts = 0;
  int own = 0;
  std::function<void()> endless = [&] {
    ++posts;
    driven.runtime->post(endless);
  };
  std::function<void()> event = [&] {
    if (++own < 20) driven.host->call_after(0ms, event);
  };
  driven.runtime->post(endless);
  driven.turn_until([&] { return posts > 0; });
  driven.host->call_after(0ms, event);
  driven.turn_until([&] { return own == 20; });
  const long before = posts;
  driven.turn_until([&] { return posts > before; });
  CHECK(posts > before);
}

TEST_CASE("endless events of the host do not keep agentcore from its work", "[loops][Q2]") {
  Driven driven;
  bool over = false;
  int own = 0, called = 0;
  std::function<void()> endless = [&] {
    ++own;
    if (!over) driven.host->call_after(0ms, endless);
  };
  driven.host->call_after(0ms, endless);
  Timer timer;
  std::function<void()> tick = [&] {
    ++called;
    timer = driven.runtime->call_after(1ms, tick);
  };
  timer = driven.runtime->call_after(1ms, tick);
  driven.turn_until([&] { return called >= 5; });
  over = true;
  const int before = own;
  driven.turn_until([&] { return own > before; });
  CHECK(called >= 5);
}
