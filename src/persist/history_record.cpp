#include "persist/history_record.hpp"

#include "core/message_items.hpp"
#include "llm/history_json.hpp"
#include "persist/json_fields.hpp"

#include <string>
#include <utility>
#include <vector>

namespace agentcore::detail::persist {

std::string to_json(const ChatMessage& message, const turn::TurnPlace* place) {
  core::JsonObjectText text;
  llm::add_message(text, message);
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
