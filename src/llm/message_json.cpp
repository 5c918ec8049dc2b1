#include "llm/message_json.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

using Messages = std::span<const ChatMessage>;

nlohmann::json image(const ContentPart& part) {
  nlohmann::json source;
  source["url"] = part.url.empty() ? "data:" + part.media_type + ";base64," + part.data : part.url;
  if (!part.detail.empty()) source["detail"] = part.detail;
  return {{"type", "image_url"}, {"image_url", std::move(source)}};
}

nlohmann::json text_of(const Messages& messages) {
  std::string text;
  for (const ChatMessage& message : messages) {
    if (!text.empty() && !message.content.empty()) text += "\n\n";
    text += message.content;
  }
  return text;
}

// A string, unless a message has images: some servers do not accept a list of parts.
nlohmann::json content_of(const Messages& messages) {
  if (std::ranges::all_of(messages, &std::vector<ContentPart>::empty, &ChatMessage::parts))
    return text_of(messages);
  nlohmann::json content = nlohmann::json::array();
  for (const ChatMessage& message : messages) {
    if (!message.content.empty()) content.push_back({{"type", "text"}, {"text", message.content}});
    for (const ContentPart& part : message.parts) content.push_back(image(part));
  }
  return content;
}

}  // namespace

nlohmann::json user_message_json(Messages messages) {
  return {{"role", to_string(Role::user)}, {"content", content_of(messages)}};
}

nlohmann::json message_json(const ChatMessage& message) {
  nlohmann::json entry{{"role", to_string(message.role)}, {"content", content_of({&message, 1})}};
  for (const ToolCall& call : message.tool_calls)
    entry["tool_calls"].push_back({{"id", call.id},
                                   {"type", "function"},
                                   {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  if (message.role == Role::tool) entry["tool_call_id"] = message.tool_call_id;
  return entry;
}

}  // namespace agentcore::detail::llm
