#include "llm/dialects/openai_chat_message.hpp"

#include <nlohmann/json.hpp>

namespace agentcore::llm {
namespace {

nlohmann::json picture(const ContentPart& part) {
  nlohmann::json source;
  source["url"] = part.url.empty() ? "data:" + part.media_type + ";base64," + part.data : part.url;
  if (!part.detail.empty()) source["detail"] = part.detail;
  return {{"type", "image_url"}, {"image_url", std::move(source)}};
}

nlohmann::json content_of(const ChatMessage& message) {
  if (message.parts.empty()) return message.content;
  nlohmann::json content = nlohmann::json::array();
  if (!message.content.empty()) content.push_back({{"type", "text"}, {"text", message.content}});
  for (const ContentPart& part : message.parts) content.push_back(picture(part));
  return content;
}

}  // namespace

nlohmann::json openai_chat_message(const ChatMessage& message) {
  nlohmann::json entry{{"role", to_string(message.role)}, {"content", content_of(message)}};
  for (const ToolCall& call : message.tool_calls)
    entry["tool_calls"].push_back({{"id", call.id},
                                   {"type", "function"},
                                   {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  if (message.role == Role::tool) entry["tool_call_id"] = message.tool_call_id;
  return entry;
}

}  // namespace agentcore::llm
