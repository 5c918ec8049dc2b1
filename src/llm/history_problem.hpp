// Why a history cannot be sent as it is.
#pragma once

#include <agentcore/chat.hpp>

#include <string>
#include <vector>

namespace agentcore::detail::llm {

// The first violation of the rules of is_valid_history(), with the number of its message, counted from 1:
// "message 3 (user) comes before the result of tool call 'c1'". Empty: the history is valid.
std::string history_problem(const std::vector<ChatMessage>& messages);

}  // namespace agentcore::detail::llm
