// Events of tool calls, of background tasks, of questions and windows. What every event has in common: see
// Event. Names, arguments and results have the bytes that the model or the tool has written: display() makes
// them safe to show.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/export.hpp>
#include <agentcore/question.hpp>
#include <agentcore/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agentcore {

/// A tool call was handed over to its tool. It begins now, or, with make_blocking_tool() and
/// make_agent_tool(), later: if it ends before, its ToolEnded says `not_started`. A call that is refused
/// before it begins has the event ToolRefused instead, and a background task has TaskChanged. If
/// Agent::complete_call() supplies the result before the tool was started, this event comes directly before
/// ToolEnded, and the tool is not started.
struct ToolStarted {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::string call_id;     ///< the id of the tool call, unique within the history of the agent
  std::string window_id;   ///< the window of the action; empty: an ordinary tool
  std::string tool;        ///< the name of the tool or action
  std::string arguments;   ///< the text of a JSON object
};

/// A tool call was refused, and its tool does not start: the tool is unknown, the arguments are invalid, a
/// ToolPolicy denied the call, a person did not approve it, the agent has AgentLimits::background_tasks tasks
/// already, or the call was cancelled (Agent::cancel_call()) before it began. The model receives the reason
/// as the result.
struct ToolRefused {
  Agent agent;             ///< the agent
  std::uint64_t turn = 0;  ///< the turn
  std::string call_id;     ///< the id of the tool call, unique within the history of the agent
  std::string window_id;   ///< the window of the action; empty: an ordinary tool
  std::string tool;        ///< the name of the tool or action, as the model wrote it
  std::string arguments;   ///< a JSON object with sorted members; as the model wrote it, if that is no JSON
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
  /// `completed` or `interrupted`; `not_started` if the call ended before it began (ToolStarted).
  ToolOutcome outcome = ToolOutcome::completed;
  /// The result, as it is in the history.
  ToolResult result;
  /// True: the host supplied the result with Agent::complete_call().
  bool by_host = false;
};

/// A question to a person was asked. AgentTree::answer(), approve() (an approval) or decline() answers it.
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
AGENTCORE_API std::string_view to_string(TaskState state) noexcept;

/// A background task of the agent started or ended. In its next turn the agent informs the model how its
/// tasks ended, except tasks that a stop cancelled.
struct TaskChanged {
  Agent agent;                           ///< the agent
  std::string task_id;                   ///< "task_" and 32 hexadecimal digits
  std::string tool;                      ///< the name of the tool or action
  TaskState state = TaskState::started;  ///< the new state
  ToolResult result;                     ///< the result if `state` is `completed` or `failed`
};

/// Why a window was closed.
enum class WindowCloseReason : unsigned char {
  action,       ///< the model used the action `close` of the window
  by_result,    ///< a result of an action of the window set ToolResult::close_source
  after_action  ///< an action succeeded, and the window has Window::auto_close_on_action
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(WindowCloseReason reason) noexcept;

/// A call of the agent closed a window, before the ToolEnded of the call, or the TaskChanged of the task. If
/// the registry is shared, the window is closed for the other agents as well, and this is the only event.
/// ToolRegistry::close() is a call by the host, and has no event.
struct WindowClosed {
  Agent agent;                                           ///< the agent
  std::uint64_t turn = 0;                                ///< the turn that started the call
  std::string call_id;                                   ///< the id of the call or background task
  std::string window_id;                                 ///< Window::id
  WindowCloseReason reason = WindowCloseReason::action;  ///< why
};

/// What runs for an agent.
enum class TaskKind : unsigned char {
  turn,        ///< a turn
  model_call,  ///< a model call of a turn
  tool_call,   ///< a tool call of a turn, or its approval
  background   ///< a background task
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(TaskKind kind) noexcept;

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

}  // namespace agentcore
