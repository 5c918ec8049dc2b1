// ForkOrigins: which agents fork() has made of which.
#pragma once

#include "core/agent_table.hpp"
#include "core/references.hpp"

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace agentcore::detail::persist {
class Recorder;
}

namespace agentcore::detail::tree {

// TurnData::origin by origin. All @loop_thread.
class ForkOrigins {
 public:
  // Throws std::bad_alloc.
  void add(core::NodeId origin, core::NodeId fork) { forks_.emplace(origin, fork); }
  // The agent is about to be removed from the table: from now on its forks are those of the agent of which it
  // is one itself. `recorder`: null, or notes that.
  void remove(const core::AgentTable& table, const core::Node& node, persist::Recorder* recorder) noexcept;
  void clear() noexcept { forks_.clear(); }

  // The forks of `root`, and the forks of these. A fork is a child of its origin's parent, so the forks of
  // their descendants are descendants, too. Throws std::bad_alloc.
  std::vector<core::NodeId> of(const core::AgentTable& table, const core::Node& root) const;

  std::size_t count(const core::References& refers) const noexcept;

 private:
  std::set<std::pair<core::NodeId, core::NodeId>> forks_;  // origin and fork
};

}  // namespace agentcore::detail::tree
