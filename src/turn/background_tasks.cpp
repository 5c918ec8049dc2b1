#include "turn/background_tasks.hpp"

#include "core/json_text.hpp"
#include "tools/arguments.hpp"
#include "tools/protocol.hpp"
#include "turn/limited.hpp"
#include "turn/lingering_calls.hpp"
#include "turn/question_desk.hpp"
#include "turn/tool_port.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::turn {
namespace {

std::string new_task_id(loop::Engine& engine) {
  const auto high = static_cast<unsigned long long>(engine.random());
  const auto low = static_cast<unsigned long long>(engine.random());
  char id[38];
  std::snprintf(id, sizeof id, "task_%016llx%016llx", high, low);
  return id;
}

// What the model reads about the end of a task. `fields`: members of the JSON object, each with a comma.
std::string line_of(const std::string& id, const std::string& tool, std::string_view state,
                    const std::string& fields) {
  return "{" + fields + "\"state\":" + core::json_string(std::string(state)) +
         ",\"task_id\":" + core::json_string(id) + ",\"tool\":" + core::json_string(tool) + "}\n";
}

}  // namespace

void BackgroundTasks::emit_state(const core::Node& node, const OperationInfo& info, TaskState state,
                                 ToolResult result) noexcept {
  context_.hub.emit(node, [&](Agent agent) {
    return TaskChanged{std::move(agent), info.id, info.tool, state, std::move(result)};
  });
}

void BackgroundTasks::note_lost(core::Node& node, const std::string& id, const std::string& tool) {
  data_of(node).ended_tasks += line_of(
      id, tool, "unknown", "\"result\":" + core::json_string(std::string(Conversation::unknown)) + ",");
}

// Keeps, for the agent's next turn, a line of JSON about the end of a task. The results and reasons in all
// lines together have at most TreeOptions::max_tool_result_bytes.
void BackgroundTasks::note_end(core::Node& node, const OperationInfo& info, TaskState state,
                               const ToolResult& result, const std::string& reason) noexcept {
  if (!info.in_history) return;
  context_.engine.guarded("the end of a background task", [&] {
    std::string& lines = data_of(node).ended_tasks;
    const std::size_t most = context_.limits.max_result_bytes;
    const auto kept = [&](std::string text) {
      return core::json_string(limited(std::move(text), most - std::min(most, lines.size())));
    };
    std::string fields;
    if (!reason.empty()) fields += "\"reason\":" + kept(reason) + ",";
    if (state != TaskState::cancelled) fields += "\"result\":" + kept(tools::text_of(result)) + ",";
    lines += line_of(info.id, info.tool, to_string(state), fields);
  });
}

std::size_t BackgroundTasks::running(const core::Node& node) const noexcept {
  std::size_t count = 0;
  context_.operations.for_each(
      node, [&](const Operation& operation) { count += operation.kind == Operation::Kind::background; });
  return count;
}

Next BackgroundTasks::start(Turn turn, std::size_t index) {
  Operations& operations = context_.operations;
  PendingCall& call = turn.active().calls[index];
  SharedOrBorrowed<ToolRegistry> registry = turn.spec().tools;
  if (call.operation) {  // of its approval: the registry may have been replaced since
    registry = operations[call.operation].info->tools;
    operations.close(std::exchange(call.operation, {}));
  }
  if (const std::size_t count = running(turn.node()); count >= turn.spec().limits.background_tasks) {
    records_.refuse(
        turn, call,
        "too many background tasks: " + std::to_string(count) + " are running; wait until one has ended");
    return Next::proceed;
  }
  const ToolCallRecord& step = CallRecords::step_of(turn, call);
  auto info = std::make_unique<OperationInfo>(OperationInfo{new_task_id(context_.engine), step.window_id,
                                                            step.tool, std::move(registry), step.round,
                                                            step.index, CallRecords::request_of(step, call)});
  const OperationId id =
      operations.open(turn.node(), Operation::Kind::background, turn.epoch(), turn.number(), std::move(info));
  try {
    context_.claims.add(task_key(operations[id].info->id), turn.node(), {});
  } catch (...) {  // nothing was emitted
    operations.close(id);
    throw;
  }
  context_.claims.set_operation(task_key(operations[id].info->id), id, operations[id].stop);
  call.task = id;
  call.state = PendingCall::State::approved;
  emit_state(turn.node(), *operations[id].info, TaskState::started, {});
  return Next::proceed;
}

Next BackgroundTasks::begin(Turn turn, std::size_t index) {
  PendingCall& call = turn.active().calls[index];
  const OperationId id = std::exchange(call.task, {});
  const Operation* const operation = context_.operations.find(id);
  if (operation && context_.claims.is_over(task_key(operation->info->id))) {
    write_cancel(id);
    close(id);
  }
  if (!context_.operations.find(id)) {  // a verb has cancelled it
    records_.set_result(turn, call, ToolOutcome::not_started,
                        ToolResult::failed("not started: the task was cancelled before it began"));
    return Next::proceed;
  }
  const std::shared_ptr<const Tool> tool = call.found.entry.tool;
  nlohmann::json arguments;
  std::shared_ptr<tools::Completion> completion;
  try {
    static_cast<void>(tools::parse_arguments(call.arguments, arguments));
    completion = record_start(turn, index, id, *tool);
  } catch (...) {
    cancel(id);
    throw;
  }
  const events::Porch::Beginning beginning(context_.hub.porch);
  tools::start_call(*tool, arguments, completion);
  return Next::proceed;
}

// Writes the id of the task as the call's result. Makes all allocations for its start.
std::shared_ptr<tools::Completion> BackgroundTasks::record_start(Turn turn, std::size_t index, OperationId id,
                                                                 const Tool& tool) {
  ActiveTurn& active = turn.active();
  PendingCall& call = active.calls[index];
  auto completion = tools::make_completion(port_.scope_of(turn.node(), id, tool));
  OperationInfo& info = *context_.operations[id].info;
  CallRecords::step_of(turn, call).task_id = info.id;
  info.in_history = !active.simulated;
  records_.set_result(turn, call, ToolOutcome::completed,
                      ToolResult::done("async task started: " + info.id,
                                       R"({"status":"started","task_id":")" + info.id + R"("})"));
  return completion;
}

void BackgroundTasks::on_result(core::Node& node, OperationId id, ToolResult result) {
  Operations& operations = context_.operations;
  const std::uint64_t turn = operations[id].turn;
  if (!core::look(node, node.load().generation()).open()) cancel(id);
  if (!operations.find(id)) return;
  const bool in_time = end(id);
  if (in_time) desk_.close_all(id);
  const DiscardReason late = operations[id].late.value_or(DiscardReason::cancelled);
  const std::unique_ptr<OperationInfo> info = std::move(operations[id].info);
  context_.claims.remove(task_key(info->id));
  operations.close(id);
  if (!in_time && !info->has_begun()) return;
  if (!in_time) return context_.discard(node, turn, 0, LateResult::tool_result, late);
  context_.note_accepted(node);
  if (result.launch) context_.hub.porch.deliver();
  if (info->tools)
    context_.engine.guarded("a tool's result", [&] {
      context_.follow_up(node, turn, *info->tools, {info->id, info->window_id, info->tool}, result);
    });
  const TaskState state = result.success ? TaskState::completed : TaskState::failed;
  note_end(node, *info, state, result);
  records_.limit(result);
  emit_state(node, *info, state, std::move(result));
}

void BackgroundTasks::on_timeout(core::Node& node, OperationId id, const ToolResult& result) {
  if (!core::look(node, node.load().generation()).open()) return cancel(id);
  if (!end(id)) return;
  context_.operations[id].end(DiscardReason::timed_out);
  context_.operations.cut(id);
  if (!context_.operations.find(id)) return;
  desk_.close_all(id);
  Operation* const operation = context_.operations.find(id);
  if (!operation) return;
  note_end(node, *operation->info, TaskState::failed, result);
  emit_state(node, *operation->info, TaskState::failed, result);
}

// Ends the task for the loop. False: it has ended before. If a verb has cancelled it, that is written now.
bool BackgroundTasks::end(OperationId id) noexcept {
  Operation& operation = context_.operations[id];
  if (operation.over) return false;
  operation.over = context_.claims.claim(task_key(operation.info->id));
  if (operation.over) return true;
  write_cancel(id);
  return false;
}

// A verb has cancelled the task: its model and its observers are told, once.
void BackgroundTasks::write_cancel(OperationId id) noexcept {
  Operations& operations = context_.operations;
  Operation& operation = operations[id];
  core::Node& node = *operation.node;
  const std::unique_ptr<CallEnding> ending = context_.claims.take(task_key(operation.info->id));
  if (!ending) return;
  operation.end(DiscardReason::cancelled);
  if (core::look(node, core::generation_of(operation.agent)).open())
    note_end(node, *operation.info, TaskState::cancelled, {}, ending->reason);
  operations.cut(id);
  if (const Operation* const left = operations.find(id))
    context_.log(LogLevel::info, "a background task was cancelled",
                 {{"agent", context_.name_of(node)},
                  {"tool", left->info->tool},
                  {"task", left->info->id},
                  {"reason", ending->reason}});
  if (operations.find(id)) desk_.close_all(id);
  if (const Operation* const left = operations.find(id))
    emit_state(node, *left->info, TaskState::cancelled, {});
}

void BackgroundTasks::finish(std::string_view task_id) noexcept {
  const OperationId id = context_.claims.operation_of(task_key(task_id));
  const Operation* const operation = id ? context_.operations.find(id) : nullptr;
  if (!operation) return;
  const AgentEntry entry(context_, *operation->node);
  core::Node& node = *operation->node;
  write_cancel(id);
  if (const Operation* const left = context_.operations.find(id)) {
    if (left->info->has_begun())
      lingering_.add(id);
    else
      close(id);  // no result will come
  }
  context_.end_activity(node);
}

// Its stop token is triggered, and it counts as ended from now on.
void BackgroundTasks::cancel(OperationId id) noexcept {
  if (!context_.operations.find(id) || !end(id)) return;
  Operations& operations = context_.operations;
  const bool never_begins = !operations[id].info->has_begun();
  const ToolOutcome outcome = never_begins ? ToolOutcome::not_started : ToolOutcome::interrupted;
  if (context_.cuts) context_.cuts->add_task(operations[id], outcome);
  core::Node& node = *operations[id].node;
  operations[id].end(why_refused(node));
  operations.cut(id);
  if (!operations.find(id)) return;
  desk_.close_all(id);
  if (const Operation* const operation = operations.find(id))
    emit_state(node, *operation->info, TaskState::cancelled, {});
  if (never_begins && operations.find(id)) close(id);  // no result will come
}

void BackgroundTasks::close(OperationId id) noexcept {
  context_.claims.remove(task_key(context_.operations[id].info->id));
  context_.operations.close(id);
}

void BackgroundTasks::cancel_all(core::Node& node) noexcept {
  std::vector<OperationId> tasks;
  context_.engine.guarded("background tasks", [&] {
    context_.operations.for_each(node, [&](const Operation& operation) {
      if (operation.kind == Operation::Kind::background) tasks.push_back(operation.id);
    });
  });
  std::reverse(tasks.begin(), tasks.end());  // oldest first
  for (const OperationId id : tasks)
    if (context_.operations.find(id)) cancel(id);
  while (cancel_newest(node)) {  // tasks that could not be listed for lack of memory
  }
}

// Cancels the newest task that is not cancelled yet. False: there is none.
bool BackgroundTasks::cancel_newest(core::Node& node) noexcept {
  std::optional<OperationId> newest;
  context_.operations.for_each(node, [&](const Operation& operation) {
    if (!newest && operation.kind == Operation::Kind::background && !operation.over) newest = operation.id;
  });
  if (newest) cancel(*newest);
  return newest.has_value();
}

}  // namespace agentcore::detail::turn
