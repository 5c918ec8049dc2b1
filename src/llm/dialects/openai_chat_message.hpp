// One message of a conversation, as the OpenAI dialect writes it.
#pragma once

#include <agentcore/chat.hpp>

#include <cstddef>
#include <span>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::llm {

// An entry of `messages`. Strings are taken over as they are: dump it with error_handler_t::replace.
nlohmann::json openai_chat_message(const ChatMessage& message);

// One entry for consecutive messages of the role user: their texts with an empty line between them, or, if
// one of them has pictures, a list of parts. As long as none has pictures, what was written for the first
// messages stays a prefix, byte for byte, when others follow.
nlohmann::json openai_chat_user_message(std::span<const ChatMessage> messages);

// Adds to that entry what the model's provider wants back of its thoughts: the reasoning_content of an answer
// that calls tools (DeepSeek), its reasoning_details (OpenRouter), the extra_content of each call and of the
// answer itself (Gemini). Answers without calls get only the last: older models of DeepSeek refuse the others
// there. A block that is not as the reader makes them is ignored, and so is one that does not go back to that
// server.
void give_thoughts_back(const ChatMessage& message, std::string_view server, nlohmann::json& entry);

// Makes the ids of calls in that entry such as a provider takes; `length` is
// BodyDefaults::tool_call_id_length. Comes last: thoughts are found by the ids that the history knows.
void fit_call_ids(std::size_t length, nlohmann::json& entry);

}  // namespace agentcore::llm
