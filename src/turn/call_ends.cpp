#include "turn/call_ends.hpp"

#include "core/json_depth.hpp"
#include "core/json_text.hpp"
#include "core/utf8.hpp"
#include "tools/arguments.hpp"
#include "tools/protocol.hpp"
#include "tools/registry.hpp"
#include "turn/limited.hpp"
#include "turn/lingering_calls.hpp"
#include "turn/question_desk.hpp"
#include "turn/turn_runner.hpp"

#include <agentcore/display.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace agentcore::detail::turn {
namespace {

std::size_t size_of(const std::vector<ContentPart>& parts) noexcept {
  std::size_t bytes = 0;
  for (const ContentPart& part : parts)
    bytes +=
        part.url.size() + part.data.size() + part.media_type.size() + part.detail.size() + part.name.size();
  return bytes;
}

// The one function that says how a call has ended. From then on a call that waits for its begin never begins.
ToolOutcome outcome_of(const Call& call, CallEnd how) noexcept {
  if (how == CallEnd::by_host || how == CallEnd::in_background) return ToolOutcome::completed;
  if (how == CallEnd::task_cancelled) return ToolOutcome::not_started;
  if (call.has_begun()) return how == CallEnd::result ? ToolOutcome::completed : ToolOutcome::interrupted;
  return call.begun_before ? ToolOutcome::interrupted : ToolOutcome::not_started;
}

// What the model reads about the end of a task. `fields`: members of the JSON object, each with a comma.
std::string line_of(const std::string& id, const std::string& tool, std::string_view state,
                    const std::string& fields) {
  return "{" + fields + "\"state\":" + core::json_string(std::string(state)) +
         ",\"task_id\":" + core::json_string(id) + ",\"tool\":" + core::json_string(tool) + "}\n";
}

}  // namespace

void CallEnds::end(Turn turn, Call& call, CallEnd how, ToolResult result) {
  write(turn, call, how, std::move(result));
  if (how == CallEnd::refused) emit_refusal(turn, call);
}

void CallEnds::write(Turn turn, Call& call, CallEnd how, ToolResult result) {
  ActiveTurn& active = turn.active();
  ToolCallRecord& step = step_of(turn, call);
  if (how == CallEnd::refused && call.begun_before)
    result.message += "; it may have begun before the program was restarted, and its effect is unknown";
  const ToolOutcome outcome = outcome_of(call, how);
  limit(result);
  std::string message = result.message, summary = result.summary;
  std::vector<MessageItem> items = ChatMessage::tool_result({}, tools::text_of(result), result.parts).items;
  if (call.step + 1 == active.result->calls.size())
    active.result->last_result = std::make_shared<const ToolResult>(result);
  // From here on no memory is needed.
  call.state = Call::State::done;
  call.ends_turn = result.success && result.end_turn;
  step.outcome = outcome;
  step.success = result.success;
  step.by_host = how == CallEnd::by_host;
  step.message = std::move(message);
  step.summary = std::move(summary);
  if (!active.simulated)
    turn.data().conversation.set_result(call.message, std::move(items),
                                        {outcome, outcome == ToolOutcome::completed && result.success});
  if (!call.start_emitted) return;
  context_.hub.emit(turn.node(), [&](Agent agent) {
    return ToolEnded{std::move(agent), turn.number(), step.call_id, outcome, result, step.by_host};
  });
}

void CallEnds::emit_start(Turn turn, Call& call) {
  call.start_emitted = true;
  context_.hub.emit(turn.node(), [&](Agent agent) {
    return ToolStarted{std::move(agent),     turn.number(),   call.names.id,
                       call.names.window_id, call.names.tool, call.arguments};
  });
}

void CallEnds::emit_refusal(Turn turn, const Call& call) {
  context_.hub.emit(turn.node(), [&](Agent agent) {
    return ToolRefused{std::move(agent),           turn.number(),   call.names.id,
                       call.names.window_id,       call.names.tool, call.arguments,
                       step_of(turn, call).message};
  });
}

Next CallEnds::refuse(Turn turn, Call& call, std::string why) {
  if (!context_.call_index.claim(call)) return end_by_verb(turn, call);
  if (call.operation) context_.operations.close(std::exchange(call.operation, {}));
  end(turn, call, CallEnd::refused, ToolResult::failed(std::move(why)));
  return Next::proceed;
}

// All results are written before an observer is called: were the turn to end in one, also by a kill after a
// flush(), no call would be left that could begin.
void CallEnds::refuse_all(Turn turn, const std::string& why) {
  std::vector<Call*> refused;
  for (const std::shared_ptr<Call>& call : turn.active().calls) {
    if (!context_.call_index.claim(*call)) continue;  // a verb has ended it
    write(turn, *call, CallEnd::refused, ToolResult::failed(why));
    refused.push_back(call.get());
  }
  for (const Call* const call : refused) emit_refusal(turn, *call);
}

// Triggers the stop token and closes the questions. False: what runs in these has ended the operation.
bool CallEnds::cut(OperationId id) noexcept {
  context_.operations.cut(id);
  if (context_.operations.find(id)) desk_.close_all(id);
  return context_.operations.find(id) != nullptr;
}

// The turn does not wait for the operation any more. If its tool has begun it stays registered, until the
// outcome comes or is given up.
void CallEnds::let_go(OperationId id, DiscardReason late) noexcept {
  const bool has_begun = context_.operations[id].call->has_begun();
  context_.operations[id].end(late);
  if (cut(id) && !has_begun) context_.operations.close(id);  // no outcome will come
}

Next CallEnds::end_by_verb(Turn turn, Call& call) {
  const bool by_host = context_.call_index.has_ending(call, true);
  if (!by_host && !context_.call_index.has_ending(call, false)) return Next::wait;
  SharedOrBorrowed<ToolRegistry> tools = call.tools ? call.tools : turn.spec().tools;
  if (call.operation) {
    const OperationId id = std::exchange(call.operation, {});
    let_go(id, by_host ? DiscardReason::completed_by_host : DiscardReason::cancelled);
    if (context_.operations.find(id)) lingering_.add(id);
  }
  if (by_host) call.tools = std::move(tools);
  if (by_host && !call.start_emitted) {
    // The result is written after the observers, one of which may end the turn.
    call.arguments = tools::as_object(call.arguments);
    step_of(turn, call).mode = ToolMode::sync;
    call.takes_ending = true;
    emit_start(turn, call);
    return Next::proceed;
  }
  const std::unique_ptr<CallEnding> left = context_.call_index.take(call);
  bool written = false;
  if (turn.is_admitted() && by_host)
    written = write_host_result(turn, call, checked(std::move(left->result)));
  else if (turn.is_admitted())
    write_cancel(turn, call, left->reason);
  if (by_host && !written)  // the turn has ended meanwhile
    context_.discard(turn.node(), turn.number(), 0, LateResult::tool_result, why_refused(turn.node()));
  return turn.is_admitted() ? Next::proceed : Next::ended;
}

void CallEnds::write_cancel(Turn turn, Call& call, const std::string& reason) {
  const bool has_begun = call.has_begun();
  std::string text = has_begun           ? "a person cancelled the call; its effect is unknown"
                     : call.begun_before ? "a person cancelled the call before it was made again"
                                         : "a person cancelled the call before it began";
  if (!reason.empty()) text += "; the reason: " + reason;
  context_.log(LogLevel::info, "a tool call was cancelled",
               {{"agent", context_.name_of(turn.node())},
                {"tool", call.names.tool},
                {"call", call.names.id},
                {"reason", reason}});
  end(turn, call, has_begun || call.start_emitted ? CallEnd::cancelled : CallEnd::refused,
      ToolResult::failed(std::move(text)));
}

// True if the result was written. False: an observer or the LaunchHandler has ended the turn.
bool CallEnds::write_host_result(Turn turn, Call& call, ToolResult result) {
  const SharedOrBorrowed<ToolRegistry> tools = std::exchange(call.tools, {});
  step_of(turn, call).mode = ToolMode::sync;
  if (result.launch) context_.hub.porch.deliver();
  if (!turn.is_admitted()) return false;
  if (tools) context_.follow_up(turn.node(), turn.number(), *tools, call.names, result);
  if (!turn.is_admitted()) return false;
  end(turn, call, CallEnd::by_host, std::move(result));
  return true;
}

void CallEnds::finish(core::Node& node, std::string_view call_id) noexcept {
  const std::shared_ptr<Call> call = context_.call_index.find({node.id(), call_id});
  if (!call || call->state == Call::State::done || !is_active(node)) return;
  runner_.run(node, [&] {
    const Turn turn(node);
    return turn.is_admitted() ? end_by_verb(turn, *call) : Next::ended;
  });
}

void CallEnds::on_result(OperationId id, ToolResult result) {
  const std::shared_ptr<Call> call = context_.operations[id].call;
  core::Node& node = call->node;
  if (call->is_task()) return take_result_of_task(*call, result);
  std::optional<DiscardReason> late;
  runner_.run(node, [&] { return take_result(*call, id, result, late); });
  // A call that has not begun has no result that could be dropped.
  if (late && !call->begin->is_withdrawn())
    context_.discard(node, call->turn, 0, LateResult::tool_result, *late);
  // If take_result() threw, the operation may still be registered.
  if (context_.operations.find(id)) context_.operations.close(id);
}

// Sets `late` if no turn takes the result.
Next CallEnds::take_result(Call& call, OperationId id, ToolResult& result,
                           std::optional<DiscardReason>& late) {
  core::Node& node = call.node;
  const bool in_turn = is_waited_for(call, id);
  const bool first = in_turn && context_.call_index.claim(call);
  const bool by_host = context_.call_index.has_ending(call, true);
  const SharedOrBorrowed<ToolRegistry> tools = std::exchange(call.tools, {});
  context_.operations[id].over = true;  // it asks nothing any more
  desk_.close_all(id);
  if (result.launch) context_.hub.porch.deliver();  // an observer may end the turn before the launch
  // An observer may end the turn: checked again after each call into the host's code.
  if (first && tools && is_waited_for(call, id) && Turn(node).is_admitted())
    context_.follow_up(node, call.turn, *tools, call.names, result);
  // An observer may have ended the turn, and the operation with it.
  std::optional<DiscardReason> ended_by = DiscardReason::turn_over;
  if (const Operation* const left = context_.operations.find(id)) {
    ended_by = left->late;
    context_.operations.close(id);
  }
  if (in_turn && !first && !ended_by)  // a verb was first, and its second half is still to come
    ended_by = by_host ? DiscardReason::completed_by_host : DiscardReason::cancelled;
  const bool is_waiting = is_waited_for(call, id);
  if (!first || !is_waiting || !Turn(node).is_admitted()) late = ended_by.value_or(why_refused(node));
  if (!is_waiting) return Next::wait;
  call.operation = {};
  const Turn turn(node);
  if (!turn.is_admitted()) return Next::ended;
  if (!first) return end_by_verb(turn, call);
  context_.note_accepted(node);
  end(turn, call, CallEnd::result, result);
  return Next::proceed;
}

void CallEnds::on_timeout(OperationId id, const ToolResult& result) {
  const std::shared_ptr<Call> call = context_.operations[id].call;
  core::Node& node = call->node;
  if (call->is_task()) return time_out_task(*call, result);
  if (!context_.call_index.claim(*call)) return;  // end_by_verb() follows
  let_go(id, DiscardReason::timed_out);
  const bool is_waiting = is_waited_for(*call, id);
  if (!context_.operations.find(id)) call->operation = {};
  if (!is_waiting) return;
  runner_.run(node, [&] {
    const Turn turn(node);
    if (!turn.is_admitted()) return Next::ended;
    call->operation = {};
    end(turn, *call, CallEnd::timed_out, result);
    return Next::proceed;
  });
}

// Without memory for the texts it stays `interrupted`, in the history and in the turn's result.
void CallEnds::withdraw(Turn turn) noexcept {
  for (const std::shared_ptr<Call>& call : turn.active().calls) {
    if (call->state != Call::State::running) continue;
    if (outcome_of(*call, CallEnd::cancelled) != ToolOutcome::not_started) continue;
    context_.engine.guarded("a call that has not begun", [&] {
      ToolCallRecord& step = step_of(turn, *call);
      std::string message(Conversation::not_started), text = message;
      step.message = std::move(message);
      step.outcome = ToolOutcome::not_started;
      if (!turn.active().simulated) turn.data().conversation.set_result(call->message, std::move(text), {});
    });
  }
}

void CallEnds::cancel(core::Node& node, std::uint64_t turn, const std::vector<std::shared_ptr<Call>>& calls,
                      const TurnResult& result, DiscardReason late) noexcept {
  std::size_t dropped = context_.call_index.remove_turn(node.id());  // first: from now on no verb finds them
  for (const std::shared_ptr<Call>& call : calls)
    if (call->operation) context_.operations[call->operation].end(late);
  for (const std::shared_ptr<Call>& call : calls)
    if (call->task) cancel_task(*call->task);
  for (const std::shared_ptr<Call>& call : calls)
    if (call->operation) let_go(call->operation, late);
  for (const std::shared_ptr<Call>& call : calls) {
    if (!call->start_emitted || call->state == Call::State::done) continue;
    const ToolCallRecord& step = result.calls[call->step];
    context_.log(
        LogLevel::info, "Tool execution was cancelled",
        {{"agent", context_.name_of(node)}, {"tool", step.tool}, {"outcome", to_string(step.outcome)}});
    ToolResult ended{.success = false};  // without memory for its text
    context_.engine.guarded("the end of a call", [&] { ended.message = step.message; });
    context_.hub.emit(node, [&](Agent agent) {
      return ToolEnded{std::move(agent), turn, step.call_id, step.outcome, std::move(ended)};
    });
  }
  for (; dropped != 0; --dropped) context_.discard(node, turn, 0, LateResult::tool_result, late);
}

void CallEnds::take_result_of_task(Call& task, ToolResult& result) {
  const OperationId id = task.operation;
  core::Node& node = task.node;
  if (!core::look(node, node.load().generation()).open()) cancel_task(task);
  if (!context_.operations.find(id)) return;
  const bool in_time = claim_task(task);
  if (in_time) desk_.close_all(id);
  const DiscardReason late = context_.operations[id].late.value_or(DiscardReason::cancelled);
  const SharedOrBorrowed<ToolRegistry> tools = task.tools;
  close_task(task);
  if (!in_time && !task.has_begun()) return;
  if (!in_time) return context_.discard(node, task.turn, 0, LateResult::tool_result, late);
  context_.note_accepted(node);
  if (result.launch) context_.hub.porch.deliver();
  if (tools)
    context_.engine.guarded("a tool's result",
                            [&] { context_.follow_up(node, task.turn, *tools, task.names, result); });
  const TaskState state = result.success ? TaskState::completed : TaskState::failed;
  note_end(task, state, result);
  limit(result);
  emit_state(task, state, std::move(result));
}

void CallEnds::time_out_task(Call& task, const ToolResult& result) {
  if (!core::look(task.node, task.node.load().generation()).open()) return cancel_task(task);
  if (!claim_task(task)) return;
  context_.operations[task.operation].end(DiscardReason::timed_out);
  if (!cut(task.operation)) return;
  note_end(task, TaskState::failed, result);
  emit_state(task, TaskState::failed, result);
}

// Ends the task for the loop. False: it has ended before. If a verb has cancelled it, that is written now.
bool CallEnds::claim_task(Call& task) noexcept {
  bool& over = context_.operations[task.operation].over;
  if (over) return false;
  over = context_.call_index.claim(task);
  if (over) return true;
  write_task_cancel(task);
  return false;
}

// A verb has cancelled the task: notes that for its model and emits it, once.
void CallEnds::write_task_cancel(Call& task) noexcept {
  const std::unique_ptr<CallEnding> left = context_.call_index.take(task);
  if (!left) return;
  context_.operations[task.operation].end(DiscardReason::cancelled);
  if (core::look(task.node, core::generation_of(task.agent)).open())
    note_end(task, TaskState::cancelled, {}, left->reason);
  context_.operations.cut(task.operation);
  if (!context_.operations.find(task.operation)) return;
  context_.log(LogLevel::info, "a background task was cancelled",
               {{"agent", context_.name_of(task.node)},
                {"tool", task.names.tool},
                {"task", task.names.id},
                {"reason", left->reason}});
  desk_.close_all(task.operation);
  if (context_.operations.find(task.operation)) emit_state(task, TaskState::cancelled, {});
}

void CallEnds::finish_task(std::string_view task_id) noexcept {
  const std::shared_ptr<Call> task = context_.call_index.find(task_key(task_id));
  if (!task || !context_.operations.find(task->operation)) return;
  const AgentEntry entry(context_, task->node);
  write_task_cancel(*task);
  if (context_.operations.find(task->operation)) {
    if (task->has_begun())
      lingering_.add(task->operation);
    else
      close_task(*task);  // no result will come
  }
  context_.end_activity(task->node);
}

// Its stop token is triggered, and it counts as ended from now on.
void CallEnds::cancel_task(Call& task) noexcept {
  Operations& operations = context_.operations;
  const OperationId id = task.operation;
  if (!operations.find(id) || !claim_task(task)) return;
  const bool never_begins = !task.has_begun();
  const ToolOutcome outcome = never_begins ? ToolOutcome::not_started : ToolOutcome::interrupted;
  if (context_.cuts) context_.cuts->add_task(operations[id], outcome);
  operations[id].end(why_refused(task.node));
  if (!cut(id)) return;
  emit_state(task, TaskState::cancelled, {});
  if (never_begins) close_task(task);  // no result will come
}

void CallEnds::drop_task(Call& task) noexcept {
  write_task_cancel(task);
  close_task(task);
}

void CallEnds::close_task(Call& task) noexcept {
  context_.call_index.remove(task);
  context_.operations.close(task.operation);
}

// Makes no list of the tasks, because that would need memory.
void CallEnds::cancel_tasks(core::Node& node) noexcept {
  for (;;) {
    std::shared_ptr<Call> oldest;
    context_.operations.for_each(node, [&](const Operation& operation) {  // newest first
      if (operation.kind == Operation::Kind::background && !operation.over) oldest = operation.call;
    });
    if (!oldest || !context_.operations.find(oldest->operation)) return;  // none, or the tree has closed
    cancel_task(*oldest);
  }
}

void CallEnds::emit_state(const Call& task, TaskState state, ToolResult result) noexcept {
  context_.hub.emit(task.node, [&](Agent agent) {
    return TaskChanged{std::move(agent), task.names.id, task.names.tool, state, std::move(result)};
  });
}

void note_lost_task(core::Node& node, const std::string& id, const std::string& tool) {
  data_of(node).ended_tasks += line_of(
      id, tool, "unknown", "\"result\":" + core::json_string(std::string(Conversation::unknown)) + ",");
}

// Keeps, for the agent's next turn, a line of JSON about the end of a task. The results and reasons in all
// lines together have at most TreeOptions::max_tool_result_bytes.
void CallEnds::note_end(const Call& task, TaskState state, const ToolResult& result,
                        const std::string& reason) noexcept {
  if (!task.in_history) return;
  context_.engine.guarded("the end of a background task", [&] {
    std::string& lines = data_of(task.node).ended_tasks;
    const std::size_t most = context_.limits.max_result_bytes;
    const auto kept = [&](std::string text) {
      return core::json_string(limited(std::move(text), most - std::min(most, lines.size())));
    };
    std::string fields;
    if (!reason.empty()) fields += "\"reason\":" + kept(reason) + ",";
    if (state != TaskState::cancelled) fields += "\"result\":" + kept(tools::text_of(result)) + ",";
    lines += line_of(task.names.id, task.names.tool, to_string(state), fields);
  });
}

ToolResult CallEnds::checked(ToolResult result) const noexcept {
  const bool fits = context_.engine.guarded("a tool's result", [&] {
    if (result.data.size() > context_.limits.max_result_bytes || !core::is_utf8(result.data) ||
        core::json_depth(result.data) > core::max_json_depth)
      result = ToolResult::failed(
          "the tool's data is no UTF-8, nested too deep, or longer than TreeOptions::max_tool_result_bytes");
  });
  if (!fits) result = {.success = false};
  return result;
}

void CallEnds::limit(ToolResult& result) const noexcept {
  if (size_of(result.parts) > context_.limits.max_message_bytes) try {
      result = ToolResult::failed(
          "the parts of the result are longer together than TreeOptions::max_message_bytes");
    } catch (const std::bad_alloc&) {
      result = {.success = false};
    }
  for (std::string* const text : {&result.message, &result.summary}) try {
      *text = limited(std::move(*text), context_.limits.max_result_bytes);
    } catch (const std::bad_alloc&) {
      text->clear();
    }
}

}  // namespace agentcore::detail::turn
