// Driven: a Runtime with a tree whose one agent streams without end, driven by the loop of the host.
#pragma once

#include "loops/host_loop.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace loops_test {

using namespace std::chrono_literals;

struct Driven {
  Driven() { host->attach(*runtime); }

  // Nothing wakes a loop whose adapter is at fault: then the test ends with the time-out of ctest.
  template <typename Done>
  void turn_until(Done&& done) const {
    while (!done()) host->turn();
  }
  // Lets `duration` pass; returns how often the loop woke up meanwhile.
  int turns_during(std::chrono::milliseconds duration) const {
    bool over = false;
    int turns = 0;
    host->call_after(duration, [&] { over = true; });
    turn_until([&] {
      ++turns;
      return over;
    });
    return turns;
  }

  // An agent that receives a word each millisecond. Returns when it has received the first.
  agentcore::Agent stream() {
    agentcore::testing::ScriptedReply endless;
    endless.deltas.assign(100'000, "word ");
    endless.interval = 1ms;
    llm.emplace(*runtime);
    llm->enqueue(endless);
    tree.emplace(*runtime, agentcore::TreeOptions{.llm = &*llm});
    events = tree->on_event([this](const agentcore::Event& event) {
      deltas += event.get<agentcore::DeltaReceived>() != nullptr;
      ended += event.get<agentcore::TurnEnded>() != nullptr;
    });
    agentcore::Agent agent = tree->create().value();
    if (agent.send("hello")) turn_until([this] { return deltas > 0; });
    return agent;
  }

  std::unique_ptr<HostLoop> host = make_host_loop();
  std::optional<agentcore::Runtime> runtime{std::in_place};
  std::optional<agentcore::testing::ScriptedClient> llm;
  std::optional<agentcore::AgentTree> tree;
  agentcore::Subscription events;
  int deltas = 0, ended = 0;
};

}  // namespace loops_test
