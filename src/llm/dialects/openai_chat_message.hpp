// What the OpenAI dialect adds to a message that message_json() has written.
#pragma once

#include <agentcore/chat.hpp>

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::detail::llm {

// Adds to an entry of `messages` the reasoning that the model's provider requires back: the reasoning_content
// of an answer that calls tools (DeepSeek), its reasoning_details (OpenRouter), the extra_content of each
// call and of the answer itself (Gemini). Answers without calls get only the last: older models of DeepSeek
// refuse the others there. A block in another form than the reader's is ignored, and so is a block that must
// not be sent to that server.
void add_reasoning(const ChatMessage& message, std::string_view server, nlohmann::json& entry);

// Converts the ids of calls in that entry to ids that the provider accepts; `length` is
// BodyDefaults::tool_call_id_length. Must come last: reasoning is found by the ids in the history.
void fit_call_ids(std::size_t length, nlohmann::json& entry);

}  // namespace agentcore::detail::llm
