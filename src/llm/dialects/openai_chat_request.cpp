#include "llm/dialects/dialect.hpp"
#include "llm/dialects/openai_chat_message.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::llm {
namespace {

std::string in_quotes(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Whether it is the text of a JSON object that has members: servers refuse the schema {}.
bool is_schema(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto brace = text.find_first_not_of(blanks);
  if (brace == std::string_view::npos || text[brace] != '{') return false;
  const auto first = text.find_first_not_of(blanks, brace + 1);
  return first != std::string_view::npos && text[first] != '}' && nlohmann::json::accept(text);
}

// Written by hand, so that the parameters keep their order: models see it.
void append(std::string& body, const ToolDescription& tool) {
  body += R"({"type":"function","function":{"name":)" + in_quotes(tool.name);
  if (!tool.description.empty()) body += R"(,"description":)" + in_quotes(tool.description);
  body += R"(,"parameters":)";
  body += is_schema(tool.parameters) ? std::string_view(tool.parameters)
                                     : std::string_view(R"({"type":"object","properties":{}})");
  body += "}}";
}

// Puts the tools behind the last member of the body.
void append_tools(std::string& body, const std::vector<ToolDescription>& tools) {
  if (tools.empty()) return;
  body.back() = ',';
  body += R"("tools":[)";
  for (const ToolDescription& tool : tools) {
    if (&tool != &tools.front()) body += ',';
    append(body, tool);
  }
  body += "]}";
}

}  // namespace

std::string openai_chat_body(const ChatRequest& request, std::string_view default_model) {
  nlohmann::json body;
  body["model"] = request.model.empty() ? default_model : std::string_view(request.model);
  nlohmann::json& messages = body["messages"] = nlohmann::json::array();
  for (const ChatMessage& message : request.messages) messages.push_back(openai_chat_message(message));
  if (request.temperature) body["temperature"] = *request.temperature;
  if (request.max_tokens) body["max_tokens"] = *request.max_tokens;
  if (request.stream) {
    body["stream"] = true;
    body["stream_options"]["include_usage"] = true;
  }
  std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  append_tools(text, request.tools);
  return text;
}

}  // namespace agentcore::llm
