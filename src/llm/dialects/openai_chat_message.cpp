#include "llm/dialects/openai_chat_message.hpp"

#include <nlohmann/json.hpp>

namespace agentcore::llm {

nlohmann::json openai_chat_message(const ChatMessage& message) {
  nlohmann::json entry{{"role", to_string(message.role)}, {"content", message.content}};
  for (const ToolCall& call : message.tool_calls)
    entry["tool_calls"].push_back({{"id", call.id},
                                   {"type", "function"},
                                   {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  if (message.role == Role::tool) entry["tool_call_id"] = message.tool_call_id;
  return entry;
}

}  // namespace agentcore::llm
