// A message of a conversation as a record.
#pragma once

#include "turn/conversation.hpp"

#include <agentcore/chat.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::persist {

// `place`: the turn that begins with the message; null if none does.
std::string to_json(const ChatMessage& message, const turn::TurnPlace* place);

struct StoredMessage {
  ChatMessage message;
  std::optional<turn::TurnPlace> place;  // `question` is not set
};
// Throws nlohmann::json::exception.
StoredMessage read_message(std::string_view text);

}  // namespace agentcore::detail::persist
