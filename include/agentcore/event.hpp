// Events: what an AgentTree reports to the callbacks of on() and on_event(). The order of events, and what a
// callback may do: see Event.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/message.hpp>
#include <agentcore/question.hpp>
#include <agentcore/stop_origin.hpp>
#include <agentcore/tool.hpp>
#include <agentcore/turn_result.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace agentcore {

/// An agent was created: the first event of the agent.
struct AgentCreated {
  Agent agent;  ///< the agent
};

/// An agent went from one state to another. The changes of an agent have no gaps: `from` is the `to` of the
/// change before.
///
///     auto states = tree.on<agentcore::StateChanged>([](const agentcore::StateChanged& change) {
///       std::printf("%s: %s -> %s\n", change.agent.id().c_str(), to_string(change.from).data(),
///                   to_string(change.to).data());
///     });
struct StateChanged {
  Agent agent;                         ///< the agent
  AgentState from = AgentState::idle;  ///< the state before
  AgentState to = AgentState::idle;    ///< the state now
  /// The cause if `to` is `stopping`, `stopped` or `terminating`, or is `idle` because of an abort. Otherwise
  /// without meaning.
  StopCause cause = StopCause::user;
  /// Who stopped, deleted, aborted or interrupted the agent, and why. For a descendant, whose cause is
  /// StopCause::parent: who called the verb on the ancestor, and why. Otherwise without texts.
  StopOrigin origin = {};
};

/// A turn began: the agent took one message from its mailbox. The turn ends with one TurnEnded.
struct TurnStarted {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the number of the turn: 1, 2, ... for each agent
  MessageId message;       ///< the message, as returned by Agent::send()
};

/// A message was dropped: it waited in the mailbox, and no turn begins with it. An accepted message ends
/// either with this event or with the TurnEnded of its turn.
struct MessageDropped {
  Agent agent;                              ///< the agent
  MessageId id;                             ///< as returned by Agent::send()
  Message message;                          ///< what was sent
  DropReason reason = DropReason::stopped;  ///< why
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
  invalid_answer     ///< the text of the answer does not match AgentSpec::response_format
};
/// The name of the enumerator.
std::string_view to_string(ReaskCause cause) noexcept;

/// A model call has ended without an effect, and the model is asked again, unless a verb or a budget ends the
/// turn before. The deltas of that call are void after the first `kept_bytes` bytes; a view should remove
/// them. At most TreeOptions::max_reasks in a turn, of which AgentSpec::max_repairs because of the answer. If
/// an answer is refused and the model is not asked again, there is only TurnEnded.
///
///     auto reasks = tree.on<agentcore::ModelCallEnded>([&](const agentcore::ModelCallEnded& ended) {
///       std::printf("call %u is asked again: %s\n", ended.call, to_string(ended.cause).data());
///       shown.resize(ended.kept_bytes);
///     });
struct ModelCallEnded {
  Agent agent;                             ///< the agent
  std::uint64_t turn = 0;                  ///< the turn
  std::uint32_t call = 0;                  ///< the number of the model call within the turn, from 1
  std::size_t kept_bytes = 0;              ///< how much of the answer, in bytes, stays valid; always 0 today
  ReaskCause cause = ReaskCause::steered;  ///< why
  /// What is wrong with the answer, as the model receives it: "answer.age is required"; at most about 1 KB.
  /// Empty for `steered`.
  std::string reason;
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

/// The mailbox of the agent is held, or released: by Agent::interrupt() with QueueAction::hold, and
/// Agent::release_queue().
struct QueueHeld {
  Agent agent;        ///< the agent
  bool held = false;  ///< true: no message begins a turn until the release
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

/// A tool call begins. A call that is refused before it begins has the event ToolRefused instead, and a
/// background task has TaskChanged. If Agent::complete_call() supplies the result before the tool was
/// started, this event comes directly before ToolEnded, and the tool is not started.
struct ToolStarted {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::string call_id;     ///< the id of the tool call, unique within the history of the agent
  std::string window_id;   ///< the window of the action; empty: an ordinary tool
  std::string tool;        ///< the name of the tool or action
  std::string arguments;   ///< the text of a JSON object
};

/// A tool call was refused, and its tool does not start: the tool is unknown, the arguments are invalid, a
/// person did not approve the call, or it was cancelled (Agent::cancel_call()) before it began. The model
/// receives the reason as the result.
struct ToolRefused {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::string call_id;     ///< the id of the tool call, unique within the history of the agent
  std::string window_id;   ///< the window of the action; empty: an ordinary tool
  std::string tool;        ///< the name of the tool or action, as the model wrote it
  std::string arguments;   ///< the arguments, as the model wrote them; they may be no JSON
  std::string reason;      ///< why
};

/// A tool reported its progress with ToolContext::progress().
struct ToolProgress {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn that started the call; a background task may report after its end
  std::string call_id;     ///< the id of the tool call; for a background task: the id of the task
  std::string text;        ///< at most TreeOptions::max_tool_result_bytes; what is longer is cut off
};

/// A tool call ended.
struct ToolEnded {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::string call_id;     ///< the id of the tool call
  /// `completed` or `interrupted`; `not_started` if a callback for its ToolStarted stopped the agent, or the
  /// call was cancelled before the tool was started.
  ToolOutcome outcome = ToolOutcome::completed;
  /// The result, as it is in the history.
  ToolResult result;
  /// True: the host supplied the result with Agent::complete_call().
  bool by_host = false;
};

/// A question to a person was asked. Answer it with AgentTree::answer() or AgentTree::decline().
struct QuestionAsked {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn; for a background task: the turn that started it
  OpenQuestion question;   ///< the question
};

/// A question was closed.
struct QuestionClosed {
  Agent agent;                                          ///< the agent
  std::uint64_t turn = 0;                               ///< as in QuestionAsked
  std::string question_id;                              ///< OpenQuestion::id
  QuestionOutcome outcome = QuestionOutcome::answered;  ///< how it ended
};

/// The state of a background task. All but `started` are ends; exactly one of them is reported.
enum class TaskState : unsigned char {
  started,    ///< the task begins
  completed,  ///< the tool delivered a result with success
  failed,     ///< the tool delivered a failed result, or the task timed out
  cancelled   ///< AgentTree::cancel_task(), or a stop or a delete of the agent
};
/// The name of the enumerator.
std::string_view to_string(TaskState state) noexcept;

/// A background task of the agent started or ended. In its next turn the agent informs the model how its
/// tasks ended, except tasks that a stop cancelled.
struct TaskChanged {
  Agent agent;                           ///< the agent
  std::string task_id;                   ///< "task_" and 32 hexadecimal digits
  std::string tool;                      ///< the name of the tool or action
  TaskState state = TaskState::started;  ///< the new state
  ToolResult result;                     ///< the result if `state` is `completed` or `failed`
};

/// What runs for an agent.
enum class TaskKind : unsigned char {
  turn,        ///< a turn
  model_call,  ///< a model call of a turn
  tool_call,   ///< a tool call of a turn, or its approval
  background   ///< a background task
};
/// The name of the enumerator.
std::string_view to_string(TaskKind kind) noexcept;

/// An operation of the agent did not end within the grace period of a stop, a delete, an interrupt, a cancel
/// or the deadline of its turn, and the tree gave it up. After a stop or a delete this event comes before the
/// Settled of the agent; after an interrupt, a deadline or a cancel (Agent::cancel_call(),
/// Agent::complete_call(), AgentTree::cancel_task()) the agent works on, and may be in a later turn. What the
/// operation still delivers is dropped; what it still does is beyond the control of the library.
struct Abandoned {
  Agent agent;                           ///< the agent
  std::uint64_t turn = 0;                ///< the turn that started the operation
  TaskKind kind = TaskKind::model_call;  ///< what it is: never TaskKind::turn
  std::string tool;                      ///< the name of the tool; empty for a model call
  std::string call_id;  ///< the id of the tool call or background task; empty for a model call
};

/// A stop or a delete of the agent has settled: no operation of the agent is in flight any more.
struct Settled {
  Agent agent;                           ///< the agent
  AgentState end = AgentState::stopped;  ///< `stopped` or `terminating`
  StopCause cause = StopCause::user;     ///< why it was stopped or deleted
  std::size_t messages_dropped = 0;      ///< the number of messages dropped from its mailbox
  bool abandoned = false;                ///< true: an operation was given up; see the event Abandoned
  StopOrigin origin = {};                ///< who stopped or deleted it, and why; as in StateChanged
};

/// What arrived too late.
enum class LateResult : unsigned char {
  answer,      ///< the outcome of a model call: an answer
  failure,     ///< the outcome of a model call: a failure
  text,        ///< deltas of a model call that was cancelled, and has ended
  tool_result  ///< the result of a tool call or background task, with success or not
};
/// The name of the enumerator.
std::string_view to_string(LateResult kind) noexcept;

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
std::string_view to_string(DiscardReason reason) noexcept;

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

/// The agent is deleted when all callbacks of this event have returned: the last event of the agent. From
/// then on its id can be used again.
struct AgentDeleted {
  Agent agent;                             ///< the agent
  StopCause cause = StopCause::terminate;  ///< `terminate`, or `parent` if an ancestor was deleted
  StopOrigin origin = {};                  ///< who deleted it, and why; as in StateChanged
};

/// The data of an event: one type for each kind of event.
using EventBody = std::variant<AgentCreated, TurnStarted, DeltaReceived, TurnEnded, Settled, Discarded,
                               AgentDeleted, ToolStarted, ToolProgress, ToolEnded, QuestionAsked,
                               QuestionClosed, TaskChanged, Abandoned, ReasoningReceived, StateChanged,
                               ToolRefused, ModelCallEnded, MessageDropped, QueueHeld, Steered>;

/// The type of an event: one of the types of EventBody.
template <typename T>
concept EventType = requires(const EventBody& body) {
  std::get_if<T>(&body);
};

/// An event of an agent, for the callbacks of AgentTree::on_event() and Agent::on_event(). Events are
/// delivered on the loop thread; the library holds no lock meanwhile.
///
///     auto events = tree.on_event([](const agentcore::Event& event) {
///       if (auto* delta = event.get<agentcore::DeltaReceived>())
///         std::fwrite(delta->text.data(), 1, delta->text.size(), stdout);
///       else if (auto* end = event.get<agentcore::TurnEnded>())
///         std::printf("\n%s\n", to_string(end->result->outcome).data());
///     });
///
/// Order:
/// - The events of a tree are delivered in the order of their sequence numbers, which rise strictly; there
///   may be gaps. The callbacks for one event are called in the order in which they were registered, those of
///   the tree before those of the agent.
/// - The first event of an agent is AgentCreated, the last is AgentDeleted. Any number of turns is between
///   them. The turns of an agent do not overlap.
/// - Each TurnStarted is followed by exactly one TurnEnded, whether the turn is stopped or not. The events
///   DeltaReceived, ReasoningReceived and ModelCallEnded come only between the two events of their turn.
///   Nothing of a turn follows its end (G7).
/// - Each accepted message has exactly one end: the TurnEnded of its turn, or one MessageDropped. A steered
///   message has exactly one Steered; if that says `queued`, an end follows.
/// - A stop or a delete of an agent brings exactly one Settled for the agent and for each agent below it,
///   children first. It follows the TurnEnded of the turn that was interrupted (G4).
/// - Each ToolStarted is followed by exactly one ToolEnded, both within their turn.
/// - Each QuestionAsked is followed by exactly one QuestionClosed, both within their turn, or within the
///   background task that asked.
/// - A background task starts within a turn. It may end at any time before its agent has settled.
///
/// A callback may do anything: call any verb for any agent, create agents, subscribe, unsubscribe, destroy
/// the tree or the Runtime. Exceptions of a callback are caught and logged; the other callbacks are called
/// nevertheless (G16).
struct Event {
  std::uint64_t sequence = 0;  ///< the sequence number
  EventBody body;              ///< the data

  /// The body if it is a T, otherwise null: `if (auto* delta = event.get<DeltaReceived>()) ...`. The pointer
  /// is valid as long as the event.
  template <typename T>
  const T* get() const noexcept {
    return std::get_if<T>(&body);
  }
  /// The agent of the event, for every kind of body.
  const Agent& agent() const noexcept {
    return std::visit([](const auto& b) -> const Agent& { return b.agent; }, body);
  }
};

namespace detail {

inline constexpr EventKinds all_event_kinds = ~EventKinds{0};

template <typename T, typename... Types>
consteval EventKinds kind_of(const std::variant<Types...>* /*type only*/) {
  EventKinds bit = 1, kind = 0;
  ((kind |= std::is_same_v<T, Types> ? bit : 0, bit <<= 1), ...);
  return kind;
}
template <EventType T>
inline constexpr EventKinds event_kind = kind_of<T>(static_cast<const EventBody*>(nullptr));

/// Internal: a callback for all events that calls `callback` for those of type T; empty if `callback` is.
template <EventType T>
std::function<void(const Event&)> only(std::function<void(const T&)> callback) {
  if (!callback) return {};
  return [callback = std::move(callback)](const Event& event) { callback(*event.get<T>()); };
}

}  // namespace detail

template <typename T>
Subscription Agent::on(std::function<void(const T&)> callback) const {
  static_assert(EventType<T>, "T must be a type of event: one of the types of EventBody");
  return subscribe(detail::event_kind<T>, detail::only<T>(std::move(callback)));
}

}  // namespace agentcore
