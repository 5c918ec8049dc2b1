#include "turn/call_endings.hpp"

#include "tools/arguments.hpp"
#include "tools/registry.hpp"
#include "turn/lingering_calls.hpp"
#include "turn/question_desk.hpp"
#include "turn/tool_port.hpp"

#include <memory>
#include <utility>

namespace agentcore::detail::turn {

Next CallEndings::apply(Turn turn, PendingCall& call) {
  std::unique_ptr<CallEnding> ending = std::move(call.ending);
  if (!ending) ending = context_.claims.take(CallRecords::key_of(turn, call));
  if (!ending) return Next::wait;
  if (!ending->tools) ending->tools = turn.spec().tools;
  if (call.operation) {
    if (const auto& own = context_.operations[call.operation].info->tools) ending->tools = own;
    release(call, ending->by_host ? DiscardReason::completed_by_host : DiscardReason::cancelled);
  }
  if (ending->by_host && !call.start_emitted) {
    // The result is written after the observers, one of which may end the turn.
    call.arguments = tools::as_object(call.arguments);
    CallRecords::step_of(turn, call).mode = ToolMode::sync;
    call.ending = std::move(ending);
    records_.emit_start(turn, call);
    return Next::proceed;
  }
  bool written = false;
  if (turn.is_admitted() && ending->by_host)
    written = write_host_result(turn, call, ending->tools, port_.checked(std::move(ending->result)));
  else if (turn.is_admitted())
    write_cancel(turn, call, ending->reason);
  if (ending->by_host && !written)  // the turn has ended meanwhile
    context_.discard(turn.node(), turn.number(), 0, LateResult::tool_result, why_refused(turn.node()));
  return turn.is_admitted() ? Next::proceed : Next::ended;
}

// The call is over, its tool perhaps not: the turn does not wait for it.
void CallEndings::release(PendingCall& call, DiscardReason late) noexcept {
  Operations& operations = context_.operations;
  const bool has_begun = call.has_begun();
  const OperationId id = std::exchange(call.operation, {});
  operations[id].end(late);
  operations.cut(id);
  if (operations.find(id)) desk_.close_all(id);
  if (!operations.find(id)) return;
  if (has_begun)
    lingering_.add(id);
  else
    operations.close(id);
}

void CallEndings::write_cancel(Turn turn, PendingCall& call, const std::string& reason) {
  const ToolCallRecord& step = CallRecords::step_of(turn, call);
  const bool has_begun = call.has_begun();
  std::string text = has_begun           ? "a person cancelled the call; its effect is unknown"
                     : call.begun_before ? "a person cancelled the call before it was made again"
                                         : "a person cancelled the call before it began";
  if (!reason.empty()) text += "; the reason: " + reason;
  context_.log(LogLevel::info, "a tool call was cancelled",
               {{"agent", context_.name_of(turn.node())},
                {"tool", step.tool},
                {"call", step.call_id},
                {"reason", reason}});
  if (!has_begun && !call.start_emitted) return records_.refuse(turn, call, std::move(text));
  records_.set_result(turn, call, CallRecords::outcome_of(call, CallRecords::Result::none),
                      ToolResult::failed(std::move(text)));
}

// True if the result was written. False: an observer or the LaunchHandler has ended the turn.
bool CallEndings::write_host_result(Turn turn, PendingCall& call, const SharedOrBorrowed<ToolRegistry>& tools,
                                    ToolResult result) {
  ToolCallRecord& step = CallRecords::step_of(turn, call);
  step.mode = ToolMode::sync;
  if (result.launch) context_.hub.porch.deliver();
  if (!turn.is_admitted()) return false;
  if (tools)
    context_.follow_up(turn.node(), turn.number(), *tools, {step.call_id, step.window_id, step.tool}, result);
  if (!turn.is_admitted()) return false;
  records_.set_result(turn, call, ToolOutcome::completed, std::move(result), true);
  return true;
}

}  // namespace agentcore::detail::turn
