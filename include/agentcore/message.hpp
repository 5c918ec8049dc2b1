// Message: what is sent to an agent, and waits in its mailbox. Also its id, the callbacks for one message,
// and what became of it.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore {

/// The id of a message that was accepted, and of the turn that it begins. It is unique in its tree: no other
/// message of the tree ever has the same id.
///
///     agentcore::SendResult sent = agent.send("Hello");
///     std::printf("queued as %s\n", to_string(sent.id).c_str());
struct MessageId {
  std::uint64_t value = 0;  ///< 0: no message. Otherwise a number without a meaning of its own.

  /// True if it is the id of a message.
  explicit operator bool() const noexcept { return value != 0; }
  /// Compares the numbers. The order is not that of sending.
  friend auto operator<=>(MessageId, MessageId) noexcept = default;
};
/// "m" and the number, for example "m268435457"; "" for no message.
AGENTCORE_API std::string to_string(MessageId id);

/// Which message of a mailbox an agent takes first.
enum class MessagePriority : unsigned char {
  normal,  ///< in the order of sending
  urgent   ///< before all normal ones; among each other in the order of sending
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(MessagePriority priority) noexcept;

/// A message to an agent.
///
///     agentcore::SendResult sent = agent.send("What is on this image?");  // text only
///     sent = agent.send({.text = "What is on this image?",
///                        .parts = {{.url = "https://example.com/beach.png"}}});
///     if (!sent) std::fprintf(stderr, "refused: %s\n", to_string(sent.reason).data());
///
/// `text`, `sender`, `kind` and `parts` together may have at most TreeOptions::max_message_bytes bytes
/// (`message_too_large`).
struct Message {
  /// UTF-8 (else `invalid_utf8`). A text that is empty or only white space is refused with `empty_message`,
  /// unless there are `parts`.
  std::string text = {};
  /// The id of an agent, or a text that the host chooses. Empty: the host. It is passed to a MessageHandler,
  /// and never sent to a model.
  std::string sender = {};
  /// Images. They are sent to the model after the text.
  std::vector<ContentPart> parts = {};
  /// A text that the host chooses, for its MessageHandlers and views. The library does not read it, and never
  /// sends it to a model.
  std::string kind = {};
  /// An urgent message is taken before all normal ones. It interrupts nothing: the current turn goes on.
  MessagePriority priority = MessagePriority::normal;
};

/// A type of text that can be sent as a Message. The functions that take a text are templates, so that a list
/// in braces, as in send({.text = "x"}), can only be a Message.
template <typename T>
concept MessageText = std::convertible_to<T, std::string_view>;

namespace detail {

// A designated initializer makes compilers zero the whole object first, which takes longer than the rest.
inline Message text_message(std::string text) {
  Message message;
  message.text = std::move(text);
  return message;
}

}  // namespace detail

/// Why a message that was accepted never began a turn.
enum class DropReason : unsigned char {
  none,           ///< it was not dropped
  stopped,        ///< the agent, or an ancestor, was stopped
  deleted,        ///< the agent was deleted
  queue_dropped,  ///< Agent::drop_queue(), or an abort with QueueAction::drop
  /// an interrupt of this message, or one with QueueAction::drop; at a restart: its turn was begun
  /// RestoreOptions::max_attempts times
  interrupted,
  removed,           ///< Agent::remove_queued()
  deadline_exceeded  ///< SendOptions::deadline passed while the message waited
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(DropReason reason) noexcept;

/// What became of one message. Passed to SendOptions::on_end.
struct MessageEnd {
  MessageId message = {};  ///< the message
  /// The number of its turn, as in TurnStarted. 0: the message was dropped before a turn began.
  std::uint64_t turn = 0;
  /// The result of its turn. Null if the message was dropped.
  std::shared_ptr<const TurnResult> result = {};
  DropReason dropped = DropReason::none;  ///< Why it was dropped; `none` if it had a turn.
};

/// Options of Agent::send(): callbacks for this message and its turn alone, and a deadline.
///
///     agentcore::SendResult asked = agent.send(
///         "What is the capital of Peru?",
///         {.on_delta = [](std::string_view text) { std::cout << text; },
///          .on_end = [](const agentcore::MessageEnd& end) {
///            if (end.result) std::cout << '\n' << to_string(end.result->outcome) << '\n';
///            else std::cout << "dropped: " << to_string(end.dropped) << '\n';
///          }});
///
///     // An answer within ten seconds, or none:
///     agentcore::SendResult urgent = agent.send(
///         "What is the weather in Lima?", {.deadline = runtime.now() + std::chrono::seconds(10)});
///
/// The callbacks are called on the loop thread. Like an observer of events, each may call any verb, and may
/// destroy the tree or the Runtime; exceptions are caught and logged (G16). They are destroyed after on_end,
/// or, without a call, when the tree is destroyed. If send() refuses the message, none of them is called.
struct SendOptions {
  /// Called for each piece of the answer, as DeltaReceived. The text is valid during the call.
  std::function<void(std::string_view text)> on_delta = {};
  /// Called for each event of the turn, from TurnStarted to TurnEnded: for the events of the agent with a
  /// member `turn` that is the number of this turn. Also for the MessageDropped of this message.
  std::function<void(const Event&)> on_event = {};
  /// Called exactly once: after the TurnEnded of the turn, or when the message is dropped. Not called if the
  /// tree or the Runtime is destroyed before.
  std::function<void(const MessageEnd&)> on_end = {};
  /// The time, by Runtime::now(), until which the message is of use. Empty, and no_limit: no deadline.
  ///
  /// If the message still waits in the mailbox then, it is dropped (DropReason::deadline_exceeded): no turn
  /// begins. This is also what becomes of a message whose deadline has passed when it is sent.
  ///
  /// If its turn is in progress then, the turn ends in whatever phase it is: it fails with
  /// Errc::deadline_exceeded (TurnOutcome::failed), and the agent goes on with its next message. The
  /// connection of a model call is closed; tools are notified by their stop token, and given up if they do
  /// not end within TreeOptions::stop_grace; questions are closed. Nothing of the turn begins after the
  /// deadline, also if the loop notices it late. Child agents and background tasks go on. The turn of a
  /// MessageHandler is not ended: it is over when the function returns.
  ///
  /// AgentLimits::turn_timeout applies instead where it ends the turn earlier.
  std::optional<TimePoint> deadline = {};

  /// True if there is at least one callback.
  explicit operator bool() const noexcept { return on_delta || on_event || on_end; }
};

/// When a steered message reaches the model.
enum class SteerWhen : unsigned char {
  next_step,  ///< before the next model call of the turn, after the results of its tool calls
  now         ///< the open model call is ended, and the model is asked again with the message
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(SteerWhen when) noexcept;

/// What becomes of a steered message if its turn ends before the model is asked again.
enum class SteerFallback : unsigned char {
  queue,     ///< it is the next message of the agent: the head of the mailbox
  give_back  ///< it is in the event Steered, with the fate `returned`, and is sent nowhere
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(SteerFallback fallback) noexcept;

/// Options of Agent::steer().
///
///     // What a person types while the agent works.
///     agentcore::SendResult steered =
///         agent.steer("Only beaches in Europe, please.", {.when = agentcore::SteerWhen::now});
struct SteerOptions {
  SteerWhen when = SteerWhen::next_step;          ///< When it reaches the model.
  SteerFallback fallback = SteerFallback::queue;  ///< What becomes of it if the turn ends before.
};

/// What became of a steered message. Each one that Agent::steer() has taken is in exactly one event Steered,
/// with its fate.
enum class SteerFate : unsigned char {
  delivered,  ///< it is in the history of the running turn, and the next model call sends it
  queued,     ///< it begins the next turn: it is a message like any other now
  returned    ///< it was sent nowhere
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(SteerFate fate) noexcept;

/// A message that waits in a mailbox, from Agent::queued().
struct QueuedMessage {
  MessageId id = {};                       ///< as returned by send()
  Message message = {};                    ///< a copy
  std::optional<TimePoint> deadline = {};  ///< SendOptions::deadline
  /// True: it is the answer of an Agent::simulate(). Only that function makes the tool calls of a text run.
  bool simulated = false;
};

}  // namespace agentcore

/// Hashes ids, so that a MessageId can be a key of std::unordered_map.
template <>
struct std::hash<agentcore::MessageId> {
  std::size_t operator()(agentcore::MessageId id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value * 0x9e37'79b9'7f4a'7c15U);
  }
};
