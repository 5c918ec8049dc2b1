// One message of a history as JSON: the form of history_to_json().
#pragma once

#include "core/internal_api.hpp"
#include "core/json_text.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/error.hpp>

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::detail::llm {

// Adds the members of the message.
void add_message(core::JsonObjectText& text, const ChatMessage& message);
AGENTCORE_INTERNAL_API nlohmann::json message_to_json(const ChatMessage& message);
// The window that a call of that name means, unless the history names another one; empty: none.
std::string window_of(const std::string& name);
// Error: `invalid_history`, with what is wrong.
Result<ChatMessage> message_from_json(const nlohmann::json& json);

}  // namespace agentcore::detail::llm
