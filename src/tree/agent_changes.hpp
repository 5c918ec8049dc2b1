// What a host changes of the agents of a tree, beside their turns and queues: budgets, specs, and the answers
// to questions. All @loop_thread.
#pragma once

#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <cstdint>
#include <functional>
#include <string_view>

namespace agentcore::detail::tree {

Result<void> grant(TreeShared& tree, turn::Turns& turns, core::NodeId id, const Budget& budget, Scope scope);
// Replaces the agent's spec by a copy that `change` has changed. The history in the spec is left out: the
// agent has it, and its system message becomes the system prompt.
Result<void> change_spec(TreeShared& tree, core::NodeId id, const std::function<void(AgentSpec&)>& change);
Result<void> answer(TreeShared& tree, turn::Turns& turns, std::string_view question_id, const Answer& answer);
Result<void> approve(TreeShared& tree, turn::Turns& turns, std::string_view question_id, GrantScope scope);
Result<void> revoke(TreeShared& tree, turn::Turns& turns, std::uint64_t grant_id);

}  // namespace agentcore::detail::tree
