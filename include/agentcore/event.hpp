// Events: what an AgentTree reports to the callbacks of on_event() and on_state_change(). The order of
// events, and what a callback may do: see Event.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/question.hpp>
#include <agentcore/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace agentcore {

/// An agent went from one state to another. The changes of an agent have no gaps: `from` is the `to` of the
/// change before.
///
///     auto states = tree.on_state_change([](const agentcore::StateChange& change) {
///       std::printf("%s: %s -> %s\n", change.agent.id().c_str(), to_string(change.from).data(),
///                   to_string(change.to).data());
///     });
struct StateChange {
  Agent agent;                         ///< the agent
  AgentState from = AgentState::idle;  ///< the state before
  AgentState to = AgentState::idle;    ///< the state now
  /// The cause if `to` is `stopping`, `stopped` or `terminating`, or is `idle` because of an abort. Otherwise
  /// without meaning.
  StopCause cause = StopCause::user;
  /// The sequence number, in one series with Event::sequence.
  std::uint64_t sequence = 0;
};

/// An agent was created: the first event of the agent.
struct AgentCreated {
  Agent agent;  ///< the agent
};

/// A turn began: the agent took one message from its mailbox. The turn ends with one TurnEnded.
struct TurnStarted {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the number of the turn: 1, 2, ... for each agent
};

/// A piece of the answer arrived.
struct DeltaReceived {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  /// The text; valid during the callback. With ToolProtocol::text it does not contain the <tool_call> blocks.
  std::string_view text;
};

/// A piece of the reasoning of the model arrived, if the provider sends it. It is not a part of the answer.
struct ReasoningReceived {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::string_view text;   ///< the text; valid during the callback
};

/// How a turn ended.
enum class TurnOutcome : unsigned char {
  completed,  ///< with an answer
  aborted,    ///< its model call was ended by an abort, or cancelled by its client
  stopped,    ///< the agent was stopped or deleted
  failed      ///< with an error: TurnEnded::error
};
/// The name of the enumerator.
std::string_view to_string(TurnOutcome outcome) noexcept;

/// A turn ended. The history already has its final form: the message has an answer, or is marked as
/// interrupted (G8).
struct TurnEnded {
  Agent agent;                                   ///< the agent
  std::uint64_t turn = 0;                        ///< the turn
  TurnOutcome outcome = TurnOutcome::completed;  ///< how it ended
  /// The whole answer if the turn completed, otherwise empty. Valid during the callback.
  std::string_view text;
  /// Why the model ended its last answer.
  FinishReason finish_reason = FinishReason::unknown;
  /// The usage of all model calls of the turn, as far as it is known.
  Usage usage;
  /// The error if the turn failed; otherwise its code is Errc::none.
  Error error;
  /// The record of the turn with its steps. Null for a turn of a MessageHandler.
  std::shared_ptr<const InteractionResult> result;
  /// The cost of all model calls of the turn, as far as it is known. Empty: the cost of none of them is
  /// known.
  std::optional<double> cost;
};

/// A tool call begins. A call that is rejected before it begins (unknown tool, invalid arguments, not
/// approved) has no events ToolStarted and ToolEnded; it is only a step of the result of the turn. A
/// background task has TaskChanged instead.
struct ToolStarted {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::string call_id;     ///< the id of the tool call, unique within the history of the agent
  std::string window_id;   ///< the window of the action; empty: an ordinary tool
  std::string tool;        ///< the name of the tool or action
  std::string arguments;   ///< the text of a JSON object
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
  /// `completed` or `interrupted`; `not_started` if a callback for its ToolStarted stopped the agent.
  ToolOutcome outcome = ToolOutcome::completed;
  /// The result, as it is in the history.
  ToolResult result;
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
  canceled    ///< AgentTree::cancel_task(), or a stop or a delete of the agent
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

/// An operation of the agent did not end within the grace period, and the tree gave it up. This event comes
/// before the Settled of the agent. What the operation still delivers is dropped; what it still does is
/// beyond the control of the library.
struct Abandoned {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn that started the operation
  std::string_view what;   ///< "model call", "tool call" or "background task"
  std::string name;        ///< the name of the tool; empty for a model call
  std::string id;          ///< the id of the tool call or background task; empty for a model call
};

/// A stop or a delete of the agent has settled: no operation of the agent is in flight any more.
struct Settled {
  Agent agent;                           ///< the agent
  AgentState end = AgentState::stopped;  ///< `stopped` or `terminating`
  StopCause cause = StopCause::user;     ///< why it was stopped or deleted
  std::size_t messages_dropped = 0;      ///< the number of messages dropped from its mailbox
  bool abandoned = false;                ///< true: an operation was given up; see the event Abandoned
};

/// A result that arrived too late, after the end of its turn, tool call or background task, was dropped
/// unread. A late result of a tool without success is dropped without this event.
struct Discarded {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn that started the operation
  std::size_t deltas = 0;  ///< the number of deltas that arrived late
  /// "answer", "failure", "tool result", or "text": late deltas of a call that was cancelled and has ended.
  std::string_view what;
};

/// The agent is deleted when all callbacks of this event have returned: the last event of the agent. From
/// then on its id can be used again.
struct AgentDeleted {
  Agent agent;  ///< the agent
};

/// The data of an event: one type for each kind of event.
using EventBody = std::variant<AgentCreated, TurnStarted, DeltaReceived, TurnEnded, Settled, Discarded,
                               AgentDeleted, ToolStarted, ToolProgress, ToolEnded, QuestionAsked,
                               QuestionClosed, TaskChanged, Abandoned, ReasoningReceived>;

/// An event of an agent, for the callbacks of AgentTree::on_event(). Events are delivered on the loop thread;
/// the library holds no lock meanwhile.
///
///     auto events = tree.on_event([](const agentcore::Event& event) {
///       if (auto* delta = event.get<agentcore::DeltaReceived>())
///         std::fwrite(delta->text.data(), 1, delta->text.size(), stdout);
///       else if (auto* end = event.get<agentcore::TurnEnded>())
///         std::printf("\n%s\n", to_string(end->outcome).data());
///     });
///
/// Order:
/// - The events and state changes of a tree share one series of sequence numbers. They are delivered in the
///   order of these numbers, which rise strictly; there may be gaps.
/// - The first event of an agent is AgentCreated, the last is AgentDeleted. Any number of turns is between
///   them. The turns of an agent do not overlap.
/// - Each TurnStarted is followed by exactly one TurnEnded, whether the turn is stopped or not. DeltaReceived
///   and ReasoningReceived come only between the two events of their turn. Nothing of a turn follows its end
///   (G7).
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

}  // namespace agentcore
