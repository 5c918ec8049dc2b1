// One message of a conversation, as the OpenAI dialect writes it.
#pragma once

#include <agentcore/chat.hpp>

#include <cstddef>
#include <span>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::detail::llm {

// An entry of `messages`. Strings are copied without a check: dump it with error_handler_t::replace.
nlohmann::json openai_chat_message(const ChatMessage& message);

// One entry for consecutive messages of the role user: their texts with an empty line between them, or, if
// one of them has images, a list of parts. As long as none has images, what was written for the first
// messages stays a prefix, byte for byte, when others follow.
nlohmann::json openai_chat_user_message(std::span<const ChatMessage> messages);

// Adds to that entry the reasoning that the model's provider requires back: the reasoning_content of an
// answer that calls tools (DeepSeek), its reasoning_details (OpenRouter), the extra_content of each call and
// of the answer itself (Gemini). Answers without calls get only the last: older models of DeepSeek refuse the
// others there. A block in another form than the reader's is ignored, and so is a block that must not be sent
// to that server.
void add_reasoning(const ChatMessage& message, std::string_view server, nlohmann::json& entry);

// Converts the ids of calls in that entry to ids that the provider accepts; `length` is
// BodyDefaults::tool_call_id_length. Must come last: reasoning is found by the ids in the history.
void fit_call_ids(std::size_t length, nlohmann::json& entry);

}  // namespace agentcore::detail::llm
