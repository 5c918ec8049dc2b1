// One message of a history as JSON: the form of history_to_json().
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/error.hpp>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {

nlohmann::json message_to_json(const ChatMessage& message);
// Error: `invalid_history`, with what is wrong.
Result<ChatMessage> message_from_json(const nlohmann::json& json);

}  // namespace agentcore::detail::llm
