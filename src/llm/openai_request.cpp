#include "llm/openai_dialect.hpp"
#include "llm/openai_message.hpp"

#include <nlohmann/json.hpp>

namespace agentcore::llm {

std::string openai_request_body(const ChatRequest& request, std::string_view default_model) {
  nlohmann::json body;
  body["model"] = request.model.empty() ? default_model : std::string_view(request.model);
  nlohmann::json& messages = body["messages"] = nlohmann::json::array();
  for (const ChatMessage& message : request.messages) messages.push_back(openai_message(message));
  if (request.temperature) body["temperature"] = *request.temperature;
  if (request.max_tokens) body["max_tokens"] = *request.max_tokens;
  if (request.stream) {
    body["stream"] = true;
    body["stream_options"]["include_usage"] = true;
  }
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace agentcore::llm
