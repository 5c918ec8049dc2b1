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

  // For the public functions of the loop thread, before they read or write anything: true, and logged, if
  // this thread is another (Engine::refuses_thread). After the end of the tree no thread is refused.
  // @threadsafe
  bool refuses_thread(const char* function) const noexcept {
    return !tree_.is_closed() && tree_.engine->refuses_thread(function);
  }
  // `subscription`, which is ended on the loop thread.
  Subscription bound(Subscription&& subscription) const noexcept {
    return std::move(subscription).of_loop(tree_.engine);
  }
  // See core::HomeProcess. @threadsafe
  bool in_forked_child() const noexcept { return tree_.engine->in_forked_child(); }
  // An observer was not added, because its agent does not exist. @loop_thread
  void log_missing_agent(std::string_view function) const noexcept;

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
