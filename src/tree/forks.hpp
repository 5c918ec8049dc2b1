// The agents that fork() has made of others.
#pragma once

#include "core/agent_table.hpp"

#include <vector>

namespace agentcore::detail::tree {

// The forks of `root` and of its descendants, and the forks of these and of their descendants: those that are
// not below `root` themselves. Visits all agents once. Throws std::bad_alloc. @loop_thread
std::vector<core::NodeId> forks_of(const core::AgentTable& table, const core::Node& root);

}  // namespace agentcore::detail::tree
