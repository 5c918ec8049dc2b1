// What the OpenAI dialect adds to a message that message_json() has written.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/http_llm_client.hpp>

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::detail::llm {

// Adds to an entry of `messages` the reasoning that the model's provider requires back: the reasoning_content
// of an answer (DeepSeek), its reasoning_details (OpenRouter), the extra_content of each call and of the
// answer itself (Gemini). An answer that the rule leaves out gets only the last; older models of DeepSeek
// refuse the others in an answer without calls. A block in another form than the reader's is ignored.
void add_reasoning(const ChatMessage& message, const ReasoningRule& rule, bool offers_tools,
                   nlohmann::json& entry);

// Converts the ids of calls in that entry to ids that the provider accepts; `length` is
// BodyDefaults::tool_call_id_length. Must come last: reasoning is found by the ids in the history.
void fit_call_ids(std::size_t length, nlohmann::json& entry);

}  // namespace agentcore::detail::llm
