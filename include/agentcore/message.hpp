// Message: what lies in a mailbox.
#pragma once

#include <agentcore/chat.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

struct Message {
  // UTF-8. With `sender` and `parts` at most TreeOptions::max_message_bytes. White space alone is refused,
  // unless there are parts.
  std::string text = {};
  std::string sender = {};              // an agent's id, or a text of the host; empty: the host
  bool simulated = false;               // `text` stands for an answer of the model: see Agent::simulate()
  std::vector<ContentPart> parts = {};  // pictures, sent behind the text
};

// A type of text that can be sent as a Message. The functions that take one are templates, so that a list in
// braces, as in send({.text = "x"}), can only be a Message.
template <typename T>
concept MessageText = std::convertible_to<T, std::string_view>;

}  // namespace agentcore
