// Events of turns: their beginning and end, and what the model sends. What every event has in common: see
// Event.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/export.hpp>
#include <agentcore/message.hpp>
#include <agentcore/turn_result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// A turn began: the agent took one message from its mailbox. The turn ends with one TurnEnded.
struct TurnStarted {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the number of the turn: 1, 2, ... for each agent; continues Agent::turns()
  MessageId message;       ///< the message, as returned by Agent::send()
};

/// A piece of the answer arrived.
struct DeltaReceived {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::uint32_t call = 0;  ///< the number of the model call within the turn, from 1
  /// The text; valid during the callback. With ToolProtocol::text it does not contain the <tool_call> blocks.
  std::string_view text;
};

/// A piece of the reasoning of the model arrived, if the provider sends it. It is not a part of the answer.
struct ReasoningReceived {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::uint32_t call = 0;  ///< the number of the model call within the turn, from 1
  std::string_view text;   ///< the text; valid during the callback
};

/// Why a model is asked again.
enum class ReaskCause : unsigned char {
  steered,           ///< Agent::steer() with SteerWhen::now ended the call
  unreadable_calls,  ///< the tool calls of the answer cannot be read (ToolProtocol::text)
  invalid_answer     ///< the text of the answer does not match ModelOptions::response_format
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(ReaskCause cause) noexcept;

/// A model call has ended without an effect, and the model is asked again, unless a verb or a budget ends the
/// turn before. The deltas of that call are void after the first `kept_bytes` bytes; a view should remove
/// them. At most TreeOptions::max_reasks in a turn, of which AgentLimits::repairs because of the answer. If
/// an answer is refused and the model is not asked again, there is only TurnEnded.
///
///     auto reasks = tree.on<agentcore::ModelCallEnded>([&](const agentcore::ModelCallEnded& ended) {
///       std::printf("call %u is asked again: %s\n", ended.call, to_string(ended.cause).data());
///       shown.resize(ended.kept_bytes);
///     });
struct ModelCallEnded {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::uint32_t call = 0;  ///< the number of the model call within the turn, from 1
  /// How much of the answer, in bytes, stays valid. Not 0 only for `steered`, if a part of the answer is kept
  /// (AgentSpec::partial_answers).
  std::size_t kept_bytes = 0;
  ReaskCause cause = ReaskCause::steered;  ///< why
  /// What is wrong with the answer, as the model receives it: "answer.age is required"; at most about 1 KB.
  /// Empty for `steered`.
  std::string reason;
};

/// What changed a conversation, apart from turns.
enum class ConversationChange : unsigned char {
  rewound,    ///< rewind() or regenerate()
  truncated,  ///< truncate_answer()
  compacted   ///< older turns are sent as a summary from now on (ContextOptions::compact)
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(ConversationChange change) noexcept;

/// The conversation of the agent was changed. A view should read Agent::conversation() again from the message
/// with the index `kept_messages` on.
struct ConversationChanged {
  Agent agent;                                              ///< the agent
  ConversationChange change = ConversationChange::rewound;  ///< what changed it
  /// `rewound`: the turn that was removed first. `truncated`: the turn of the answer. `compacted`: the turn
  /// during which the summary was made.
  std::uint64_t turn = 0;
  /// How many messages of Agent::conversation(), from the first, are as before. With `compacted` all are,
  /// and only Agent::context() has changed; 0 if older turns were removed (ContextOptions::archive_bytes).
  std::size_t kept_messages = 0;
};

/// A model call of a turn that summarises older turns (ContextOptions::compact) begins or has ended. It
/// counts as a model call of the turn, and its text is in no DeltaReceived.
struct CompactionChanged {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::uint32_t call = 0;  ///< the number of the model call within the turn, from 1
  bool ended = false;      ///< false: the call begins
  /// Of a call that has ended: whether the summary is used from now on. False: the call failed, or the turn
  /// ended (Errc::turn_over), or an observer of its begin paused the agent (Errc::none, it begins again
  /// later). After a failed call the messages are left out of the requests of this turn (ContextTrimmed), and
  /// the next turn offers the same messages to a summary again.
  bool used = false;
  /// Of a call that has ended and whose summary is not used: why. The error of the model call;
  /// `invalid_answer` (the text was cut off, blank, filtered or refused, or the model called tools);
  /// `response_too_large` (the text, or the request with it); `turn_over`; or `none` (see `used`).
  ChatError error = {};
  std::size_t tokens_before = 0;  ///< Of the request without the summary.
  std::size_t tokens_after = 0;   ///< Of the request with it; 0 if it is not used.
};

/// A request to the model leaves out what the request before had, because it would have more than
/// ContextOptions::max_tokens (see there). Nothing of it is lost: Agent::conversation() has all of it. What a
/// summary stands for is not left out: see CompactionChanged.
///
///     auto trims = tree.on<agentcore::ContextTrimmed>([](const agentcore::ContextTrimmed& trimmed) {
///       std::printf("the model no longer sees %zu messages\n", trimmed.messages.size());
///     });
struct ContextTrimmed {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::uint32_t call = 0;  ///< the number of the model call within the turn that is sent without it, from 1
  /// The messages that are left out from this request on, as indices into Agent::conversation(), ascending.
  std::vector<std::size_t> messages = {};
  /// The results of tools that are cut in the middle from this request on, as indices as above.
  std::vector<std::size_t> cut_results = {};
  std::size_t windows = 0;  ///< how many windows are left out from this request on
  /// True: `messages` is all that is left out of the requests of this turn, because a summary could not be
  /// made (see the CompactionChanged before, or the log). The next turn offers the same messages to a summary
  /// again. False: they are not sent again (exceptions: see ContextOptions).
  bool for_this_turn = false;
  std::size_t tokens_before = 0;  ///< Of the request with what is left out.
  std::size_t tokens_after = 0;   ///< Of the request.
};

/// What became of a message that Agent::steer() has taken: exactly one event for each.
struct Steered {
  Agent agent;                            ///< the agent
  std::uint64_t turn = 0;                 ///< `delivered`: the turn. Otherwise 0.
  MessageId id;                           ///< as returned by Agent::steer()
  SteerFate fate = SteerFate::delivered;  ///< what became of it
  /// `delivered`: the number of the model call within the turn that sends it, from 1. Otherwise 0.
  std::uint32_t call = 0;
  /// `returned`: why: `turn_over` (the turn has ended, and SteerFallback::give_back was asked for, or its
  /// queue was dropped), `agent_stopping`, `agent_stopped`, `agent_terminating`, `mailbox_full`. Otherwise
  /// `none`.
  Errc reason = Errc::none;
  Message message = {};  ///< `returned`: the message. Otherwise empty.
};

/// A turn ended. The history already has its final form: the message has an answer, or is marked as
/// interrupted (G8). Agent::state() is `idle` already, unless the agent was stopped or deleted; the
/// StateChanged follows.
struct TurnEnded {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  MessageId message;       ///< the message with which it began
  /// How it ended, the answer, the tool calls and the usage. Never null; it may be kept.
  std::shared_ptr<const TurnResult> result;
};

/// What arrived too late.
enum class LateResult : unsigned char {
  answer,      ///< the outcome of a model call: an answer
  failure,     ///< the outcome of a model call: a failure
  text,        ///< deltas of a model call that was cancelled, and has ended
  tool_result  ///< the result of a tool call or background task, with success or not
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(LateResult kind) noexcept;

/// Why a result arrived too late.
enum class DiscardReason : unsigned char {
  stopped,            ///< the agent had been stopped, or an ancestor with it
  deleted,            ///< the agent was being deleted, or an ancestor
  interrupted,        ///< the turn had been interrupted
  aborted,            ///< the turn had been aborted
  turn_over,          ///< the turn had ended by itself: it had failed
  timed_out,          ///< the tool call had timed out
  cancelled,          ///< Agent::cancel_call() or AgentTree::cancel_task() had ended the call
  completed_by_host,  ///< Agent::complete_call() had supplied the result
  steered,            ///< Agent::steer() with SteerWhen::now had ended the model call
  deadline_exceeded,  ///< the deadline of the turn had passed
  given_up            ///< the operation had been given up: see Abandoned
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(DiscardReason reason) noexcept;

/// A result that arrived too late, after the end of its turn, tool call or background task, was dropped
/// unread, whether it was a success or not. A tool that drops its ToolDone after its call has ended delivers
/// a failed result late. The same event reports a result of Agent::complete_call() whose turn ended before
/// the result was written.
struct Discarded {
  Agent agent;                           ///< the agent
  std::uint64_t turn = 0;                ///< the turn that started the operation
  std::size_t deltas = 0;                ///< the number of deltas that arrived late
  LateResult kind = LateResult::answer;  ///< what was dropped
  /// What had ended the operation before. If several things did, one after the other: the first.
  DiscardReason reason = DiscardReason::stopped;
};

}  // namespace agentcore
