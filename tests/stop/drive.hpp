// drive: polls until a tree is at rest, and says so when it never comes to rest.
#pragma once

#include "stop/held_client.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>

#include <functional>
#include <string>

namespace stop_test {

// "" once nothing of the tree is under way; else who is still busy with what, after far more polls than it
// can take.
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

// The same with a model that answers what is open and lets go of what was stopped.
inline std::string drive(agentcore::Runtime& runtime, const agentcore::AgentTree& tree, HeldClient& client) {
  return drive(runtime, tree, [&] {
    client.cancel_stopped();
    client.answer_all();
  });
}

}  // namespace stop_test
