// count_references(): shows a test that nothing of a deleted agent is left.
#pragma once

#include <agentcore/fwd.hpp>

#include <cstddef>
#include <string_view>

namespace agentcore::testing {

/// Returns how many entries in the tables, lists and queues of `tree` refer to the id or its agent: 0 after
/// the agent was deleted (G13). It searches everywhere, in time proportional to the size of the tree.
///
///     CHECK(agentcore::testing::count_references(tree, "planner") == 0);
///
/// @loop_thread
std::size_t count_references(const AgentTree& tree, std::string_view id);

}  // namespace agentcore::testing
