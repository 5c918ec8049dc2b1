// AgentAccess: makes handles and looks into them. The only way in from inside the library.
#pragma once

#include "core/node.hpp"

#include <agentcore/agent.hpp>

namespace agentcore::core {

struct AgentAccess {
  static Agent make(tree::TreeCore* core, NodeId node) noexcept { return Agent(core, node); }
  static tree::TreeCore* core(const Agent& agent) noexcept { return agent.core_; }
  static NodeId node(const Agent& agent) noexcept { return agent.node_; }
  // A handle that does not count, for the length of one callback: the tree's core is alive anyway. Copies of
  // it count. forget() must be called before it is destroyed.
  static Agent borrow(tree::TreeCore* core, NodeId node) noexcept {
    Agent agent;
    lend(agent, core, node);
    return agent;
  }
  // The same, written into an empty handle.
  static void lend(const Agent& empty, tree::TreeCore* core, NodeId node) noexcept {
    auto& agent = const_cast<Agent&>(empty);
    agent.core_ = core;
    agent.node_ = node;
  }
  static void forget(const Agent& agent) noexcept { const_cast<Agent&>(agent).core_ = nullptr; }
};

// Forgets a borrowed handle that lies in an event, also when the event's delivery throws.
class Forgetting {
 public:
  explicit Forgetting(const Agent& agent) noexcept : agent_(agent) {}
  ~Forgetting() { AgentAccess::forget(agent_); }
  Forgetting(const Forgetting&) = delete;
  Forgetting& operator=(const Forgetting&) = delete;

 private:
  const Agent& agent_;
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

}  // namespace agentcore::core
