// AgentAccess: creates handles and reads their contents. The rest of the library has no other access to them.
#pragma once

#include "core/node.hpp"

#include <agentcore/agent.hpp>
#include <agentcore/agent_tree.hpp>

namespace agentcore::detail::core {

struct AgentAccess {
  static Agent make(tree::TreeCore* core, NodeId node) noexcept { return Agent(core, node); }
  static tree::TreeCore* core(const Agent& agent) noexcept { return agent.core_; }
  static tree::TreeCore* core(const AgentTree& tree) noexcept { return tree.core_; }
  static NodeId node(const Agent& agent) noexcept { return agent.node_; }
  // Returns a handle that counts no reference, for the duration of one callback, during which the tree's core
  // exists anyway. Its copies count one. forget() must be called before the handle is destroyed.
  static Agent borrow(tree::TreeCore* core, NodeId node) noexcept {
    Agent agent;
    lend(agent, core, node);
    return agent;
  }
  // The same, written into an empty handle.
  static void lend(Agent& empty, tree::TreeCore* core, NodeId node) noexcept {
    empty.core_ = core;
    empty.node_ = node;
  }
  static void forget(Agent& agent) noexcept { agent.core_ = nullptr; }
};

// Empties a borrowed handle in an event, also when the delivery of the event throws.
class Forgetting {
 public:
  explicit Forgetting(Agent& agent) noexcept : agent_(agent) {}
  ~Forgetting() { AgentAccess::forget(agent_); }
  Forgetting(const Forgetting&) = delete;
  Forgetting& operator=(const Forgetting&) = delete;

 private:
  Agent& agent_;
};

// A borrowed handle on the stack.
class BorrowedAgent {
 public:
  BorrowedAgent(tree::TreeCore* core, NodeId node) noexcept : agent_(AgentAccess::borrow(core, node)) {}
  ~BorrowedAgent() { AgentAccess::forget(agent_); }
  BorrowedAgent(const BorrowedAgent&) = delete;
  BorrowedAgent& operator=(const BorrowedAgent&) = delete;
  const Agent& get() const noexcept { return agent_; }

 private:
  Agent agent_;
};

}  // namespace agentcore::detail::core
