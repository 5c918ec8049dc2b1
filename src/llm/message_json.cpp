#include "llm/message_json.hpp"

#include "core/message_items.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

using Messages = std::span<const ChatMessage>;

nlohmann::json text_of(const Messages& messages) {
  std::string text;
  for (const ChatMessage& message : messages) {
    const std::string content = message.content();
    if (!text.empty() && !content.empty()) text += core::between_texts;
    text += content;
  }
  return text;
}

// A string, unless a message has images: some servers do not accept a list of parts.
nlohmann::json content_of(const Messages& messages) {
  if (std::ranges::all_of(messages, [](const ChatMessage& message) { return message.parts().empty(); }))
    return text_of(messages);
  nlohmann::json content = nlohmann::json::array();
  for (const ChatMessage& message : messages) {
    for (const MessageItem& item : message.items) {
      if (const auto* const text = std::get_if<TextItem>(&item); text && !text->text.empty())
        content.push_back({{"type", "text"}, {"text", text->text}});
      else if (const auto* const part = std::get_if<ContentPart>(&item))
        content.push_back(part_json(*part));
    }
  }
  return content;
}

}  // namespace

std::string url_of(const ContentPart& part) {
  return part.url.empty() ? "data:" + part.media_type + ";base64," + part.data : part.url;
}

std::string audio_format(std::string_view media_type) {
  const std::string_view subtype = media_type.substr(media_type.find('/') + 1);
  return std::string(subtype == "mpeg" ? "mp3" : subtype == "x-wav" ? "wav" : subtype);
}

nlohmann::json part_json(const ContentPart& part) {
  nlohmann::json source;
  switch (part.kind) {
    case ContentPart::Kind::image:
      source["url"] = url_of(part);
      if (!part.detail.empty()) source["detail"] = part.detail;
      return {{"type", "image_url"}, {"image_url", std::move(source)}};
    case ContentPart::Kind::document:
      source["filename"] = part.name.empty() ? "document" : part.name;
      source["file_data"] = url_of(part);
      return {{"type", "file"}, {"file", std::move(source)}};
    case ContentPart::Kind::audio:
      source["data"] = part.url.empty() ? part.data : part.url;
      source["format"] = audio_format(part.media_type);
      return {{"type", "input_audio"}, {"input_audio", std::move(source)}};
  }
  return source;
}

nlohmann::json user_message_json(Messages messages) {
  return {{"role", to_string(Role::user)}, {"content", content_of(messages)}};
}

nlohmann::json message_json(const ChatMessage& message) {
  nlohmann::json entry{{"role", to_string(message.role)}, {"content", content_of({&message, 1})}};
  for (const ToolCall& call : message.tool_calls())
    entry["tool_calls"].push_back({{"id", call.id},
                                   {"type", "function"},
                                   {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  if (message.role == Role::tool) entry["tool_call_id"] = message.tool_call_id;
  return entry;
}

}  // namespace agentcore::detail::llm
