#include "llm/openai_dialect.hpp"

#include <nlohmann/json.hpp>

namespace agentcore::llm {
namespace {

nlohmann::json written(const ChatMessage& message) {
  nlohmann::json entry{{"role", to_string(message.role)}, {"content", message.content}};
  for (const ToolCall& call : message.tool_calls)
    entry["tool_calls"].push_back({{"id", call.id},
                                   {"type", "function"},
                                   {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  if (message.role == Role::tool) entry["tool_call_id"] = message.tool_call_id;
  return entry;
}

}  // namespace

std::string openai_request_body(const ChatRequest& request, std::string_view default_model) {
  nlohmann::json body;
  body["model"] = request.model.empty() ? default_model : std::string_view(request.model);
  nlohmann::json& messages = body["messages"] = nlohmann::json::array();
  for (const ChatMessage& message : request.messages) messages.push_back(written(message));
  if (request.temperature) body["temperature"] = *request.temperature;
  if (request.max_tokens) body["max_tokens"] = *request.max_tokens;
  if (request.stream) {
    body["stream"] = true;
    body["stream_options"]["include_usage"] = true;
  }
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace agentcore::llm
