#include "persist/history_record.hpp"

#include "llm/history_json.hpp"
#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

#include <utility>

namespace agentcore::detail::persist {

namespace {

// Most messages: what llm::message_to_json() makes of them, without the detour.
RecordText flat_message(const ChatMessage& message) {
  RecordText text;
  text.add("role", to_string(message.role));
  text.add("content", std::string_view(message.content));
  if (message.interruption != Interruption::none) text.add("interruption", to_string(message.interruption));
  text.put("pinned", message.pinned);
  text.put("steered", message.steered);
  text.put("summary", message.summary);
  if (message.role == Role::tool || !message.tool_call_id.empty())
    text.add("tool_call_id", std::string_view(message.tool_call_id));
  return text;
}

}  // namespace

std::string to_json(const ChatMessage& message, const turn::TurnPlace* place) {
  if (message.tool_calls.empty() && message.parts.empty() && message.reasoning.empty()) {
    RecordText text = flat_message(message);
    if (place) {
      text.add("turn", place->turn);
      text.put("message_id", place->message.value);
      text.put("tasks", place->tasks);
    }
    return text.take();
  }
  json object = llm::message_to_json(message);
  if (place) {
    object["turn"] = place->turn;
    put(object, "message_id", place->message.value);
    put(object, "tasks", place->tasks);
  }
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

StoredMessage read_message(std::string_view text) {
  const json object = parse_object(text);
  Result<ChatMessage> message = llm::message_from_json(object);
  if (!message) throw json::other_error::create(501, message.error().message, &object);
  StoredMessage stored{*std::move(message), std::nullopt};
  if (!object.contains("turn")) return stored;
  stored.place.emplace();
  get(object, "turn", stored.place->turn);
  get(object, "message_id", stored.place->message.value);
  get(object, "tasks", stored.place->tasks);
  return stored;
}

}  // namespace agentcore::detail::persist
