#include "persist/history_record.hpp"

#include "core/message_items.hpp"
#include "llm/history_json.hpp"
#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace agentcore::detail::persist {

namespace {

std::string text_part_json(const TextItem& item) {
  RecordText text;
  text.add("type", std::string_view("text"));
  text.add("text", std::string_view(item.text));
  text.put("refusal", item.refusal);
  text.put("id", item.id);
  text.put("phase", item.phase);
  return text.take();
}

std::string message_part_json(const ContentPart& part) {
  if (part.kind != ContentPart::Kind::image)
    return llm::part_to_json(part).dump(-1, ' ', false, json::error_handler_t::replace);
  RecordText source;
  const bool is_inline = part.url.empty();
  source.add("url", is_inline ? "data:" + part.media_type + ";base64," + part.data : part.url);
  source.put("detail", part.detail);
  RecordText text;
  text.add("type", std::string_view("image_url"));
  text.add_json("image_url", source.take());
  return text.take();
}

// The texts and images. An empty text is none, unless its place counts.
std::string parts_json(const ChatMessage& message, bool in_order) {
  std::vector<std::string> parts;
  for (const MessageItem& item : message.items) {
    if (const auto* const text = std::get_if<TextItem>(&item); text && (in_order || !text->text.empty()))
      parts.push_back(text_part_json(*text));
    else if (const auto* const part = std::get_if<ContentPart>(&item))
      parts.push_back(message_part_json(*part));
  }
  return RecordText::array(parts, [](const std::string& part) { return part; });
}

std::string kind_json(const MessageItem& item) {
  return '"' + std::string(core::kind_of(item)) + '"';
}

std::string call_json(const ToolCall& call) {
  RecordText function;
  function.add("name", std::string_view(call.name));
  function.add("arguments", std::string_view(call.arguments));
  RecordText text;
  text.add("id", std::string_view(call.id));
  text.add("type", std::string_view("function"));
  text.add_json("function", function.take());
  if (call.window_id != llm::window_of(call.name)) text.add("window_id", std::string_view(call.window_id));
  text.put("action_id", call.action_id);
  return text.take();
}

std::string block_json(const ReasoningBlock& block) {
  RecordText text;
  text.add("dialect", std::string_view(block.dialect));
  text.add("data", std::string_view(block.data));
  text.put("server", block.server);
  text.put("model", block.model);
  text.put("account", block.account);
  text.put("prefix", block.prefix);
  return text.take();
}

}  // namespace

// What llm::message_to_json() makes of the message.
std::string to_json(const ChatMessage& message, const turn::TurnPlace* place) {
  RecordText text;
  text.add("role", to_string(message.role));
  const bool in_order = !core::is_plain(message);
  if (in_order || !message.parts().empty()) {
    const std::string parts = parts_json(message, in_order);
    text.add_json("content", parts == "[]" ? R"("")" : parts);
  } else {
    text.add("content", std::string_view(core::first_text(message)));
  }
  if (const auto calls = message.tool_calls(); !calls.empty())
    text.add_json("tool_calls", RecordText::array(calls, call_json));
  if (message.interruption != Interruption::none) text.add("interruption", to_string(message.interruption));
  text.put("pinned", message.pinned);
  text.put("steered", message.steered);
  text.put("summary", message.summary);
  if (message.role == Role::tool || !message.tool_call_id.empty())
    text.add("tool_call_id", std::string_view(message.tool_call_id));
  if (message.call_end) {
    text.add("outcome", to_string(message.call_end->outcome));
    text.put("success", message.call_end->success);
  }
  if (const auto blocks = message.reasoning(); !blocks.empty())
    text.add_json("reasoning_blocks", RecordText::array(blocks, block_json));
  if (in_order) text.add_json("order", RecordText::array(message.items, kind_json));
  if (place) {
    text.add("turn", place->turn);
    text.put("message_id", place->message.value);
    text.put("tasks", place->tasks);
  }
  return text.take();
}

StoredMessage read_message(std::string_view text) {
  const ParsedRecord parsed(text);
  const json& object = *parsed;
  Result<ChatMessage> message = llm::message_from_json(object);
  if (!message) throw json::other_error::create(501, message.error().message, &object);
  StoredMessage stored{*std::move(message), std::nullopt};
  if (!object.contains("turn")) return stored;
  turn::TurnPlace& place = stored.place.emplace();
  get(object, "turn", place.turn);
  get(object, "message_id", place.message.value);
  get(object, "tasks", place.tasks);
  if (place.turn == 0 || stored.message.role != Role::user)
    refuse_field("turn", "begins with a message that is no question");
  if (place.tasks > core::first_text(stored.message).size()) refuse_field("tasks", "is out of range");
  return stored;
}

}  // namespace agentcore::detail::persist
