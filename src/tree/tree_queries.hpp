// TreeQueries: the queries of a tree about its agents.
#pragma once

#include "tree/tree_shared.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::tree {

class TreeQueries {
 public:
  explicit TreeQueries(TreeShared& tree) : tree_(tree) {}

  // @threadsafe
  core::NodeId find(std::string_view name) const noexcept;
  std::string name_of(core::NodeId id) const;
  bool exists(core::NodeId id) const noexcept;
  bool busy(core::NodeId id) const noexcept;
  Result<AgentState> state(core::NodeId id) const;
  Result<AgentStatus> status(core::NodeId id) const;
  Result<bool> is_queue_held(core::NodeId id) const;
  // Why find() has found no agent: `runtime_gone` or `agent_not_found`.
  Errc missing() const noexcept { return tree_.missing(); }
  std::size_t size() const noexcept { return tree_.is_closed() ? 0 : tree_.table.alive(); }
  core::NodeId root_sentinel() const noexcept { return tree_.table.root_sentinel().id(); }

  // @loop_thread
  AgentRole role(core::NodeId id) const;
  Result<Agent> parent(core::NodeId id) const;
  std::vector<Agent> children(core::NodeId id) const;
  // Calls visit(agent) for each agent, parents first.
  void walk(const std::function<void(const Agent&)>& visit) const;
  // Entries of the tables that have that name, or the agent of that name (for leak tests).
  std::size_t count_entries(std::string_view name) const;

 private:
  TreeShared& tree_;
};

}  // namespace agentcore::detail::tree
