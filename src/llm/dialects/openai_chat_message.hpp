// One message of a conversation, as the OpenAI dialect writes it.
#pragma once

#include <agentcore/chat.hpp>

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::llm {

// An entry of `messages`; `id_length` is BodyDefaults::tool_call_id_length. Strings are taken over as they
// are: dump it with error_handler_t::replace.
nlohmann::json openai_chat_message(const ChatMessage& message, std::size_t id_length = 0);

// Adds to that entry what the model's provider wants back of its thoughts: the reasoning_content of an answer
// that calls tools (DeepSeek), its reasoning_details (OpenRouter), the extra_content of each call (Gemini).
// Answers without calls get nothing: older models of DeepSeek refuse it there. A block that is not as the
// reader makes them is ignored, and so is one that does not go back to that server.
void give_thoughts_back(const ChatMessage& message, std::string_view server, nlohmann::json& entry);

}  // namespace agentcore::llm
