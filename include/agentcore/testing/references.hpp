// count_references(): shows a test that nothing of a deleted agent is left.
#pragma once

#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>

#include <cstddef>
#include <string_view>

namespace agentcore::testing {

/// Returns how many entries in the tables, lists and queues of `tree` refer to the id or its agent: 0 after
/// the agent was deleted (G13). If no agent has the id, the entries that refer to any deleted agent are
/// counted: there must be none, either.
///
/// It searches, in time proportional to the size of the tree: the agents and their ids; mailboxes with their
/// urgent messages, and the messages whose turns are in progress; the list of agents that are ready; verbs
/// that the loop has not read; stops, deletes and resumes in progress; operations in flight, also those that
/// linger after a cancel; open questions; tool calls and background tasks; kept results of turns; callbacks
/// of Agent::on(), Agent::on_event() and of messages (SendOptions); events that are still to be delivered.
/// Timers belong to one of these.
///
///     CHECK(agentcore::testing::count_references(tree, "planner") == 0);
///
/// @loop_thread
AGENTCORE_API std::size_t count_references(const AgentTree& tree, std::string_view id);

}  // namespace agentcore::testing
