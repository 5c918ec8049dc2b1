// CallEnds: the one place that ends a tool call or a background task.
#pragma once

#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/event.hpp>
#include <agentcore/tool.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::turn {

class LingeringCalls;
class QuestionDesk;
class TurnRunner;

// How a call ends. Its outcome follows from this and from what is known of its begin (G9).
enum class CallEnd : std::uint8_t {
  result,          // its tool has given a result
  refused,         // it cannot begin: the model receives why, and ToolRefused is emitted
  timed_out,       // its time is over
  cancelled,       // a person has cancelled it
  by_host,         // the host has supplied its result
  in_background,   // a background task does its work: the id of the task is the result
  task_cancelled,  // that task was cancelled before it began
};

// True if the turn of the call is in progress and waits for that operation.
inline bool is_waited_for(const Call& call, OperationId id) noexcept {
  return call.operation == id && call.node.id() == call.agent && call.node.turns == call.turn &&
         is_active(call.node);
}

// A task of an earlier process: its effect is unknown. Keeps a line about it for the agent's next turn.
// Throws std::bad_alloc.
void note_lost_task(core::Node& node, const std::string& id, const std::string& tool);

// An end has three parts. The claim in the CallIndex decides who ends the call. Then its operation is
// released: cut, and closed if the tool never begins; else what the tool still delivers is late. At last
// end() writes how the call has ended. The end of its turn ends the calls that are left, in two parts:
// withdraw() and cancel(). All @loop_thread.
class CallEnds {
 public:
  CallEnds(TurnContext& context, QuestionDesk& desk, LingeringCalls& lingering, TurnRunner& runner)
      : context_(context), desk_(desk), lingering_(lingering), runner_(runner) {}

  // Writes the end of a claimed call: its outcome, in the history and in the turn's steps. Emits ToolEnded if
  // ToolStarted was emitted.
  void end(Turn turn, Call& call, CallEnd how, ToolResult result);
  // Claims the call and ends it, as refused, unless a verb has ended it before.
  Next refuse(Turn turn, Call& call, std::string why);
  // The same for all calls of the last answer, before they begin.
  void refuse_all(Turn turn, const std::string& why);
  // A verb has claimed the call: ends it, unless another function does that. What the tool still delivers is
  // late.
  Next end_by_verb(Turn turn, Call& call);
  // The second half of a verb that has ended the call of that id. Does nothing if the turn of the call is
  // over.
  void finish(core::Node& node, std::string_view call_id) noexcept;
  // The tool of a registered operation has given its result.
  void on_result(OperationId id, ToolResult result);
  // Its time-out has passed: the operation is cut, and the turn continues with `result`, or the task has
  // failed.
  void on_timeout(OperationId id, const ToolResult& result);

  // The turn ends: writes of the calls that were handed over, and have not begun, that they never began.
  void withdraw(Turn turn) noexcept;
  // The turn has ended: no verb finds its calls any more. Releases `calls` and emits their ends.
  void cancel(core::Node& node, std::uint64_t turn, const std::vector<std::shared_ptr<Call>>& calls,
              const TurnResult& result, DiscardReason late) noexcept;

  // A background task ends once, too: exactly one of `completed`, `failed` and `cancelled` is emitted. This
  // cancels one that a stop, or a lack of memory, ends: its stop token is triggered, and it counts as ended
  // from now on. Does nothing if it is over.
  void cancel_task(Call& task) noexcept;
  // Cancels all tasks of an agent that is stopped, the oldest first.
  void cancel_tasks(core::Node& node) noexcept;
  // The second half of a verb that has cancelled the task of that id. Does nothing if it is over.
  void finish_task(std::string_view task_id) noexcept;
  // A verb has cancelled a task before its tool was started.
  void drop_task(Call& task) noexcept;
  void emit_state(const Call& task, TaskState state, ToolResult result) noexcept;

  // Emits ToolStarted: ToolEnded follows, however the call ends.
  void emit_start(Turn turn, Call& call);
  // A result with data that cannot be used becomes a failed one; without memory, one without a text.
  ToolResult checked(ToolResult result) const noexcept;
  // Cuts the texts of a result to TreeOptions::max_tool_result_bytes. Without memory they become empty.
  void limit(ToolResult& result) const noexcept;
  // The step of the turn's result that belongs to the call.
  static ToolCallRecord& step_of(Turn turn, const Call& call) {
    return turn.active().result->calls[call.step];
  }

 private:
  void write(Turn turn, Call& call, CallEnd how, ToolResult result);
  void emit_refusal(Turn turn, const Call& call);
  bool cut(OperationId id) noexcept;
  void let_go(OperationId id, DiscardReason late) noexcept;
  void write_cancel(Turn turn, Call& call, const std::string& reason);
  bool write_host_result(Turn turn, Call& call, ToolResult result);
  Next take_result(Call& call, OperationId id, ToolResult& result, std::optional<DiscardReason>& late);
  bool claim_task(Call& task) noexcept;
  void write_task_cancel(Call& task) noexcept;
  void close_task(Call& task) noexcept;
  void take_result_of_task(Call& task, ToolResult& result);
  void time_out_task(Call& task, const ToolResult& result);
  void note_end(const Call& task, TaskState state, const ToolResult& result,
                const std::string& reason = {}) noexcept;

  TurnContext& context_;
  QuestionDesk& desk_;
  LingeringCalls& lingering_;
  TurnRunner& runner_;
};

}  // namespace agentcore::detail::turn
