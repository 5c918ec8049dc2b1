// Message: what is sent to an agent, and waits in its mailbox.
#pragma once

#include <agentcore/chat.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// A message to an agent.
///
///     agentcore::SendResult sent = agent.send("What is on this image?");  // text only
///     sent = agent.send({.text = "What is on this image?",
///                        .parts = {{.url = "https://example.com/beach.png"}}});
///     if (!sent) std::fprintf(stderr, "refused: %s\n", to_string(sent.reason).data());
///
/// `text`, `sender` and `parts` together may have at most TreeOptions::max_message_bytes bytes
/// (`message_too_large`).
struct Message {
  /// UTF-8 (else `invalid_utf8`). A text that is empty or only white space is refused with `empty_message`,
  /// unless there are `parts`.
  std::string text = {};
  /// The id of an agent, or a text that the host chooses. Empty: the host. It is passed to a MessageHandler,
  /// and never sent to a model.
  std::string sender = {};
  /// True: `text` is handled as an answer of the model (see Agent::simulate()). `parts` are then ignored.
  bool simulated = false;
  /// Images. They are sent to the model after the text.
  std::vector<ContentPart> parts = {};
};

/// A type of text that can be sent as a Message. The functions that take a text are templates, so that a list
/// in braces, as in send({.text = "x"}), can only be a Message.
template <typename T>
concept MessageText = std::convertible_to<T, std::string_view>;

}  // namespace agentcore
