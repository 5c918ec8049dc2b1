// Message: what lies in a mailbox.
#pragma once

#include <agentcore/chat.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

struct Message {
  std::string text = {};                // UTF-8, at most TreeOptions::max_message_bytes; white space alone is
                                        // refused, unless there are parts
  std::string sender = {};              // an agent's id, or whatever the host likes; empty: the host. Its
                                        // bytes, and those of the parts, count as the text's.
  bool simulated = false;               // `text` stands for an answer of the model: see Agent::simulate()
  std::vector<ContentPart> parts = {};  // pictures, sent behind the text
};

// Text that is sent as a Message of its own. The functions that take it are templates, so that a list in
// braces, as in send({.text = "x"}), can only be a Message.
template <typename T>
concept MessageText = std::convertible_to<T, std::string_view>;

}  // namespace agentcore
