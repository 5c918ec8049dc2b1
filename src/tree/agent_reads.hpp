// What a host reads of the agents of a tree.
#pragma once

#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/conversation.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::tree {

// @threadsafe. A state is read after core::Leases::check(): a lease that has run out is a stop.
core::NodeId find_agent(const TreeShared& tree, std::string_view name) noexcept;
std::string name_of(const TreeShared& tree, core::NodeId id);
bool exists(const TreeShared& tree, core::NodeId id) noexcept;
bool is_busy(TreeShared& tree, core::NodeId id) noexcept;
Result<AgentState> state_of(TreeShared& tree, core::NodeId id);
Result<AgentStatus> status_of(TreeShared& tree, core::NodeId id);

// @loop_thread, as all that follows
AgentRole role_of(const TreeShared& tree, core::NodeId id);
Result<Agent> parent_of(const TreeShared& tree, core::NodeId id);
std::vector<Agent> children_of(const TreeShared& tree, core::NodeId id);
// Calls visit(agent) for each agent, parents first.
void walk(const TreeShared& tree, const std::function<void(const Agent&)>& visit) AGENTCORE_RUNS_HOST_CODE;
std::string model_of(const TreeShared& tree, core::NodeId id);
Result<Spent> spent_of(const TreeShared& tree, core::NodeId id, Scope scope);
// Why there is no budget with that scope.
std::optional<Error> problem_of_budget(Scope scope);
Result<std::vector<ChatMessage>> conversation_of(const TreeShared& tree, core::NodeId id);
Result<std::vector<ChatMessage>> context_of(const TreeShared& tree, core::NodeId id);
Result<ConversationPage> page_of(const TreeShared& tree, core::NodeId id, std::size_t count,
                                 std::optional<std::size_t> end);
MessageInfo message_info(TreeShared& tree, turn::Turns& turns, MessageId id);
// Entries of the tables that have that name, or the agent of that name (for leak tests).
std::size_t count_entries(const TreeShared& tree, std::string_view name);

}  // namespace agentcore::detail::tree
