// BackgroundTasks: tool calls that a turn does not wait for.
#pragma once

#include "tools/call_scope.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/event.hpp>
#include <agentcore/tool.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore::detail::turn {

class CallEnds;
class LingeringCalls;
class QuestionDesk;
class ToolPort;

// A task belongs to the agent and not to the turn that started it: an abort leaves it, a stop cancels it
// (X17). Exactly one of `completed`, `failed` and `cancelled` is emitted for each. All @loop_thread.
class BackgroundTasks {
 public:
  BackgroundTasks(TurnContext& context, CallEnds& ends, ToolPort& port, QuestionDesk& desk,
                  LingeringCalls& lingering)
      : context_(context), ends_(ends), port_(port), desk_(desk), lingering_(lingering) {}

  // Starts a claimed call in the background; the call's result is the id of the task (L2-L4).
  // `proceed`: begin() is next.
  Next start(Turn turn, Call& call);
  // Starts the tool of the task (Call::task), unless a verb has cancelled it.
  Next begin(Turn turn, Call& call);
  // Its stop token is triggered, and it counts as ended from now on. Does nothing if it is gone.
  void cancel(Call& task) noexcept;
  // Cancels all tasks of an agent that is stopped, the oldest first.
  void cancel_all(core::Node& node) noexcept;
  // A verb has cancelled the task of that id: writes that, unless the task has ended.
  void finish(std::string_view task_id) noexcept;

  // A task of an earlier process: its effect is unknown. Keeps a line about it for the agent's next turn.
  // Throws std::bad_alloc.
  static void note_lost(core::Node& node, const std::string& id, const std::string& tool);

  // The tool of a registered operation has given its result.
  void on_result(OperationId id, ToolResult result);
  // Its time-out has passed: the operation is cut, and the task has failed.
  void on_timeout(OperationId id, const ToolResult& result);

 private:
  std::size_t running(const core::Node& node) const noexcept;
  std::shared_ptr<tools::Completion> record_start(Turn turn, Call& call, Call& task);
  bool end(Call& task) noexcept;
  bool cut(OperationId id) noexcept;
  void write_cancel(Call& task) noexcept;
  void close(Call& task) noexcept;
  bool cancel_newest(core::Node& node) noexcept;
  void note_end(const Call& task, TaskState state, const ToolResult& result,
                const std::string& reason = {}) noexcept;
  void emit_state(const Call& task, TaskState state, ToolResult result) noexcept;

  TurnContext& context_;
  CallEnds& ends_;
  ToolPort& port_;
  QuestionDesk& desk_;
  LingeringCalls& lingering_;
};

}  // namespace agentcore::detail::turn
