// drive: polls until a tree is at rest, and reports when it never comes to rest.
#pragma once

#include "support/clients/fake_client.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>

#include <functional>
#include <string>

namespace agentcore::test {

// "" when no operation of the tree is left; else the agents that are still busy, after far more polls than
// needed.
inline std::string drive(agentcore::Runtime& runtime, const agentcore::AgentTree& tree,
                         const std::function<void()>& between = {}) {
  for (int polls = 0; polls < 20'000; ++polls) {
    const bool more = runtime.poll();
    if (!more && !tree.busy()) return "";
    if (between) between();
  }
  std::string still = "never at rest:";
  tree.walk([&](const agentcore::Agent& agent) {
    still += " " + agent.id() + "=" + std::string(to_string(agent.state().value())) + "/" +
             std::to_string(agent.queue_length().value());
  });
  return still;
}

// The same with a client: ends the stopped calls, answers the open ones, and keeps no records of either.
inline std::string drive(agentcore::Runtime& runtime, const agentcore::AgentTree& tree,
                         agentcore::test::FakeClient& client) {
  std::string busy = drive(runtime, tree, [&] {
    client.cancel_stopped();
    client.answer_all();
  });
  client.forget_ended();
  return busy;
}

}  // namespace agentcore::test
