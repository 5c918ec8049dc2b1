// References: which entries of a table or a queue a leak test counts.
#pragma once

#include "core/agent_table.hpp"

namespace agentcore::detail::core {

// Matches the entries of one agent. Where the agent is gone, and its id with it, it matches the entries of
// all agents that are gone: there must be none.
class References {
 public:
  // `agent` is 0 if the agent is gone.
  References(const AgentTable& table, NodeId agent) noexcept : table_(table), agent_(agent) {}
  bool operator()(NodeId entry) const noexcept {
    if (entry == 0) return false;
    return agent_ != 0 ? entry == agent_ : !table_.find(entry);
  }

 private:
  const AgentTable& table_;
  NodeId agent_;
};

}  // namespace agentcore::detail::core
