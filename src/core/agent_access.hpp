// AgentAccess: makes handles and looks into them. The only way in from inside the library.
#pragma once

#include <agentcore/agent.hpp>

#include "core/node.hpp"

namespace agentcore::core {

struct AgentAccess {
  static Agent make(tree::TreeCore* core, NodeId node) noexcept { return Agent(core, node); }
  static tree::TreeCore* core(const Agent& agent) noexcept { return agent.core_; }
  static NodeId node(const Agent& agent) noexcept { return agent.node_; }
  // Lets a handle refer to another agent of the same tree, without counting.
  static void retarget(Agent& agent, NodeId node) noexcept { agent.node_ = node; }
};

}  // namespace agentcore::core
