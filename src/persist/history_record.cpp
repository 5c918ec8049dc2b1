#include "persist/history_record.hpp"

#include "llm/history_json.hpp"
#include "persist/json_fields.hpp"

#include <utility>

namespace agentcore::detail::persist {

std::string to_json(const ChatMessage& message, const turn::TurnPlace* place) {
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
