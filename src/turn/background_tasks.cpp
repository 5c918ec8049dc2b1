#include "turn/background_tasks.hpp"

#include "core/json_text.hpp"
#include "tools/arguments.hpp"
#include "tools/protocol.hpp"
#include "turn/call_ends.hpp"
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

void BackgroundTasks::emit_state(const Call& task, TaskState state, ToolResult result) noexcept {
  context_.hub.emit(task.node, [&](Agent agent) {
    return TaskChanged{std::move(agent), task.names.id, task.names.tool, state, std::move(result)};
  });
}

void BackgroundTasks::note_lost(core::Node& node, const std::string& id, const std::string& tool) {
  data_of(node).ended_tasks += line_of(
      id, tool, "unknown", "\"result\":" + core::json_string(std::string(Conversation::unknown)) + ",");
}

// Keeps, for the agent's next turn, a line of JSON about the end of a task. The results and reasons in all
// lines together have at most TreeOptions::max_tool_result_bytes.
void BackgroundTasks::note_end(const Call& task, TaskState state, const ToolResult& result,
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

std::size_t BackgroundTasks::running(const core::Node& node) const noexcept {
  std::size_t count = 0;
  context_.operations.for_each(
      node, [&](const Operation& operation) { count += operation.kind == Operation::Kind::background; });
  return count;
}

Next BackgroundTasks::start(Turn turn, Call& call) {
  Operations& operations = context_.operations;
  SharedOrBorrowed<ToolRegistry> tools = turn.spec().tools;
  if (call.operation) {  // of its approval: the registry may have been replaced since
    tools = call.tools;
    operations.close(std::exchange(call.operation, {}));
  }
  if (const std::size_t count = running(turn.node()); count >= turn.spec().limits.background_tasks) {
    ends_.end(turn, call, CallEnd::refused,
              ToolResult::failed("too many background tasks: " + std::to_string(count) +
                                 " are running; wait until one has ended"));
    return Next::proceed;
  }
  const auto task =
      std::make_shared<Call>(CallNames{new_task_id(context_.engine), call.names.window_id, call.names.tool},
                             turn.node(), turn.number(), std::nullopt);
  const OperationId id =
      operations.open(turn.node(), Operation::Kind::background, turn.epoch(), turn.number(), task);
  try {
    context_.call_index.add(task);
  } catch (...) {  // nothing was emitted
    operations.close(id);
    throw;
  }
  task->operation = id;
  task->tools = std::move(tools);
  context_.call_index.set_stop(*task, operations[id].stop);
  call.task = task;
  call.state = Call::State::approved;
  emit_state(*task, TaskState::started, {});
  return Next::proceed;
}

Next BackgroundTasks::begin(Turn turn, Call& call) {
  const std::shared_ptr<Call> task = std::exchange(call.task, {});
  const OperationId id = task->operation;
  if (context_.operations.find(id) && context_.call_index.is_over(*task)) {
    write_cancel(*task);
    close(*task);
  }
  if (!context_.operations.find(id)) {  // a verb has cancelled it
    ends_.end(turn, call, CallEnd::task_cancelled,
              ToolResult::failed("not started: the task was cancelled before it began"));
    return Next::proceed;
  }
  const std::shared_ptr<const Tool> tool = call.found.entry.tool;
  nlohmann::json arguments;
  std::shared_ptr<tools::Completion> completion;
  try {
    static_cast<void>(tools::parse_arguments(call.arguments, arguments));
    completion = record_start(turn, call, *task);
  } catch (...) {
    cancel(*task);
    throw;
  }
  const events::Porch::Beginning beginning(context_.hub.porch);
  tools::start_call(*tool, arguments, completion);
  return Next::proceed;
}

// Writes the id of the task as the call's result. Makes all allocations for its start.
std::shared_ptr<tools::Completion> BackgroundTasks::record_start(Turn turn, Call& call, Call& task) {
  auto completion = tools::make_completion(port_.scope_of(turn, call, task));
  CallEnds::step_of(turn, call).task_id = task.names.id;
  task.in_history = !turn.active().simulated;
  ends_.end(turn, call, CallEnd::in_background,
            ToolResult::done("async task started: " + task.names.id,
                             R"({"status":"started","task_id":")" + task.names.id + R"("})"));
  task.begin = completion->scope->begin;
  return completion;
}

void BackgroundTasks::on_result(OperationId id, ToolResult result) {
  const std::shared_ptr<Call> task = context_.operations[id].call;
  core::Node& node = task->node;
  if (!core::look(node, node.load().generation()).open()) cancel(*task);
  if (!context_.operations.find(id)) return;
  const bool in_time = end(*task);
  if (in_time) desk_.close_all(id);
  const DiscardReason late = context_.operations[id].late.value_or(DiscardReason::cancelled);
  const SharedOrBorrowed<ToolRegistry> tools = task->tools;
  close(*task);
  if (!in_time && !task->has_begun()) return;
  if (!in_time) return context_.discard(node, task->turn, 0, LateResult::tool_result, late);
  context_.note_accepted(node);
  if (result.launch) context_.hub.porch.deliver();
  if (tools)
    context_.engine.guarded("a tool's result",
                            [&] { context_.follow_up(node, task->turn, *tools, task->names, result); });
  const TaskState state = result.success ? TaskState::completed : TaskState::failed;
  note_end(*task, state, result);
  ends_.limit(result);
  emit_state(*task, state, std::move(result));
}

void BackgroundTasks::on_timeout(OperationId id, const ToolResult& result) {
  const std::shared_ptr<Call> task = context_.operations[id].call;
  if (!core::look(task->node, task->node.load().generation()).open()) return cancel(*task);
  if (!end(*task)) return;
  context_.operations[id].end(DiscardReason::timed_out);
  if (!cut(id)) return;
  note_end(*task, TaskState::failed, result);
  emit_state(*task, TaskState::failed, result);
}

// Ends the task for the loop. False: it has ended before. If a verb has cancelled it, that is written now.
bool BackgroundTasks::end(Call& task) noexcept {
  bool& over = context_.operations[task.operation].over;
  if (over) return false;
  over = context_.call_index.claim(task);
  if (over) return true;
  write_cancel(task);
  return false;
}

// Triggers the stop token and closes the questions. False: what runs in these has ended the operation.
bool BackgroundTasks::cut(OperationId id) noexcept {
  context_.operations.cut(id);
  if (context_.operations.find(id)) desk_.close_all(id);
  return context_.operations.find(id) != nullptr;
}

// A verb has cancelled the task: notes that for its model and emits it, once.
void BackgroundTasks::write_cancel(Call& task) noexcept {
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

void BackgroundTasks::finish(std::string_view task_id) noexcept {
  const std::shared_ptr<Call> task = context_.call_index.find(task_key(task_id));
  if (!task || !context_.operations.find(task->operation)) return;
  const AgentEntry entry(context_, task->node);
  write_cancel(*task);
  if (context_.operations.find(task->operation)) {
    if (task->has_begun())
      lingering_.add(task->operation);
    else
      close(*task);  // no result will come
  }
  context_.end_activity(task->node);
}

// Its stop token is triggered, and it counts as ended from now on.
void BackgroundTasks::cancel(Call& task) noexcept {
  Operations& operations = context_.operations;
  const OperationId id = task.operation;
  if (!operations.find(id) || !end(task)) return;
  const bool never_begins = !task.has_begun();
  const ToolOutcome outcome = never_begins ? ToolOutcome::not_started : ToolOutcome::interrupted;
  if (context_.cuts) context_.cuts->add_task(operations[id], outcome);
  operations[id].end(why_refused(task.node));
  if (!cut(id)) return;
  emit_state(task, TaskState::cancelled, {});
  if (never_begins) close(task);  // no result will come
}

void BackgroundTasks::close(Call& task) noexcept {
  context_.call_index.remove(task);
  context_.operations.close(task.operation);
}

void BackgroundTasks::cancel_all(core::Node& node) noexcept {
  std::vector<std::shared_ptr<Call>> tasks;
  context_.engine.guarded("background tasks", [&] {
    context_.operations.for_each(node, [&](const Operation& operation) {
      if (operation.kind == Operation::Kind::background) tasks.push_back(operation.call);
    });
  });
  std::reverse(tasks.begin(), tasks.end());  // oldest first
  for (const std::shared_ptr<Call>& task : tasks) cancel(*task);
  while (cancel_newest(node)) {  // tasks that could not be listed for lack of memory
  }
}

// Cancels the newest task that is not cancelled yet. False: there is none.
bool BackgroundTasks::cancel_newest(core::Node& node) noexcept {
  std::shared_ptr<Call> newest;
  context_.operations.for_each(node, [&](const Operation& operation) {
    if (!newest && operation.kind == Operation::Kind::background && !operation.over) newest = operation.call;
  });
  if (newest) cancel(*newest);
  return newest != nullptr;
}

}  // namespace agentcore::detail::turn
