// Events: facts that a tree sends to its host.
//
// Order. One series of sequence numbers covers events and state changes of a tree; it rises strictly, in the
// order of delivery (there may be gaps). All are delivered on the loop thread, outside every lock.
//
// Pairs. AgentCreated .. AgentDeleted; between them any number of turns. TurnStarted .. TurnEnded, exactly
// one end, stopped or not; DeltaReceived and ReasoningReceived only between the two of its own turn, and
// nothing of a turn after its end (G7). Per agent turns do not overlap. A stop or a delete of an agent brings
// exactly one Settled for it and for each agent below it, children first, after the TurnEnded of whatever it
// interrupted (G4); AgentDeleted is the last event of an agent. ToolStarted .. ToolEnded, for each call that
// was begun, within its turn. QuestionAsked .. QuestionClosed, also within it, or within the background task
// that asked. A background task is started within a turn and may end at any time before its agent has
// settled.
//
// A callback may do anything: call any verb for any agent, create agents, subscribe, unsubscribe, destroy the
// tree or the Runtime. What it throws is caught, logged, and harms nobody else (G16).
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

// One edge of one agent (B20). Consecutive changes of an agent join: the next `from` is the last `to`.
struct StateChange {
  Agent agent;
  AgentState from = AgentState::idle;
  AgentState to = AgentState::idle;
  StopCause cause = StopCause::user;  // meaningful for stopping, stopped, terminating and an abort's idle
  std::uint64_t sequence = 0;
};

struct AgentCreated {
  Agent agent;
};

// A turn takes one message to one result.
struct TurnStarted {
  Agent agent;
  std::uint64_t turn = 0;  // 1, 2, ... per agent
};

struct DeltaReceived {
  Agent agent;
  std::uint64_t turn = 0;
  std::string_view text;  // valid during the callback. ToolProtocol::text: without the <tool_call> blocks.
};

// What the model thinks, where its provider tells. It is no part of the answer.
struct ReasoningReceived {
  Agent agent;
  std::uint64_t turn = 0;
  std::string_view text;  // valid during the callback
};

enum class TurnOutcome : unsigned char { completed, aborted, stopped, failed };
std::string_view to_string(TurnOutcome outcome) noexcept;

// The history is already as it will stay: answered, or marked as interrupted (G8).
struct TurnEnded {
  Agent agent;
  std::uint64_t turn = 0;
  TurnOutcome outcome = TurnOutcome::completed;
  std::string_view text;  // the whole answer when completed, else empty; valid during the callback
  FinishReason finish_reason = FinishReason::unknown;
  Usage usage;                                      // of all its model calls, as far as it was told
  Error error;                                      // when failed; else its code is Errc::none
  std::shared_ptr<const InteractionResult> result;  // its steps; null for a turn of a MessageHandler
  std::optional<double> cost;  // of all its model calls; empty unless that is known of one of them
};

// A tool call begins. One that is refused before (unknown, bad arguments, not approved) is only a step of the
// turn's result.
struct ToolStarted {
  Agent agent;
  std::uint64_t turn = 0;
  std::string call_id;
  std::string window_id;  // empty: an ordinary tool
  std::string tool;       // its name, or the action's
  std::string arguments;  // the text of a JSON object
};

struct ToolProgress {
  Agent agent;
  std::uint64_t turn = 0;
  std::string call_id;
  std::string text;
};

// `outcome` is `completed` or `interrupted`; `not_started` if it was stopped by an observer of its beginning.
struct ToolEnded {
  Agent agent;
  std::uint64_t turn = 0;
  std::string call_id;
  ToolOutcome outcome = ToolOutcome::completed;
  ToolResult result;
};

// A person is asked. Answer by AgentTree::answer() or decline().
struct QuestionAsked {
  Agent agent;
  std::uint64_t turn = 0;
  OpenQuestion question;
};

struct QuestionClosed {
  Agent agent;
  std::uint64_t turn = 0;
  std::string question_id;
  QuestionOutcome outcome = QuestionOutcome::answered;
};

enum class TaskState : unsigned char { started, completed, failed, canceled };
std::string_view to_string(TaskState state) noexcept;

// A background task of the agent (L7). The last three are ends; exactly one of them comes. The agent's next
// turn informs the model how its tasks have ended, but for those that a stop cancelled.
struct TaskChanged {
  Agent agent;
  std::string task_id;  // "task_" and 32 hexadecimal digits
  std::string tool;
  TaskState state = TaskState::started;
  ToolResult result;  // once completed or failed
};

// Something of the agent did not let go within the grace period and was given up; before its Settled. What it
// still says is dropped, what it still does is beyond our reach.
struct Abandoned {
  Agent agent;
  std::uint64_t turn = 0;
  std::string_view what;  // "model call", "tool call" or "background task"
  std::string name;       // of the tool
  std::string id;         // of the call or the task
};

// Nothing of the agent is left in flight. `end` is `stopped` or `terminating`.
struct Settled {
  Agent agent;
  AgentState end = AgentState::stopped;
  StopCause cause = StopCause::user;
  std::size_t messages_dropped = 0;  // out of its mailbox
  bool abandoned = false;            // something did not let go in time (Abandoned tells what)
};

// A result that came too late was dropped unread (C4, F7).
struct Discarded {
  Agent agent;
  std::uint64_t turn = 0;
  std::size_t deltas = 0;  // late pieces of text
  std::string_view what;   // "answer", "failure", "tool result", or "text": late deltas of a call that let go
};

// The agent is gone when the callback returns. Its id can be used again from then on.
struct AgentDeleted {
  Agent agent;
};

using EventBody = std::variant<AgentCreated, TurnStarted, DeltaReceived, TurnEnded, Settled, Discarded,
                               AgentDeleted, ToolStarted, ToolProgress, ToolEnded, QuestionAsked,
                               QuestionClosed, TaskChanged, Abandoned, ReasoningReceived>;

struct Event {
  std::uint64_t sequence = 0;
  EventBody body;

  // The body if it is a T, else null: `if (auto* delta = event.get<DeltaReceived>()) ...`
  template <typename T>
  const T* get() const noexcept {
    return std::get_if<T>(&body);
  }
  const Agent& agent() const noexcept {
    return std::visit([](const auto& b) -> const Agent& { return b.agent; }, body);
  }
};

}  // namespace agentcore
