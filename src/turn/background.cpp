// Background tasks: tool calls that a turn does not wait for. They belong to the agent: an abort leaves them,
// a stop cancels them (X17).
#include "tools/arguments.hpp"
#include "tools/protocol.hpp"
#include "turn/limited.hpp"
#include "turn/turns.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore {

std::string_view to_string(TaskState state) noexcept {
  switch (state) {
    case TaskState::started:
      return "started";
    case TaskState::completed:
      return "completed";
    case TaskState::failed:
      return "failed";
    case TaskState::canceled:
      return "canceled";
  }
  return "unknown";
}

std::string_view to_string(RunningTask::Kind kind) noexcept {
  switch (kind) {
    case RunningTask::Kind::turn:
      return "turn";
    case RunningTask::Kind::model_call:
      return "model_call";
    case RunningTask::Kind::tool_call:
      return "tool_call";
    case RunningTask::Kind::background:
      return "background";
  }
  return "unknown";
}

namespace turn {
namespace {

std::string new_task_id(loop::Engine& engine) {
  char id[38];
  std::snprintf(id, sizeof id, "task_%016llx%016llx", static_cast<unsigned long long>(engine.random()),
                static_cast<unsigned long long>(engine.random()));
  return id;
}

// As a JSON string. (The destructor of a JSON object allocates, and its exception could not be caught.)
std::string quoted(std::string text) {
  return nlohmann::json(std::move(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void Turns::tell_task(core::Node& node, const FlightInfo& info, TaskState state, ToolResult result) noexcept {
  hub_.tell(node, [&](Agent agent) {
    return TaskChanged{std::move(agent), info.id, info.tool, state, std::move(result)};
  });
}

// Keeps for the agent's next turn, as a line of JSON, how a task ended. The results in all lines together
// have at most TreeOptions::max_tool_result_bytes.
void Turns::note_end(core::Node& node, const FlightInfo& info, TaskState state,
                     const ToolResult& result) noexcept {
  if (!info.in_history) return;
  engine_.guarded("the end of a background task", [&] {
    std::string& lines = data_of(node).ended_tasks;
    const std::size_t room = limits_.max_result_bytes - std::min(limits_.max_result_bytes, lines.size());
    std::string line = "{";
    if (state != TaskState::canceled)
      line += "\"result\":" + quoted(limited(tools::text_of(result), room)) + ",";
    line += "\"state\":" + quoted(std::string(to_string(state))) + ",\"task_id\":" + quoted(info.id) +
            ",\"tool\":" + quoted(info.tool) + "}\n";
    lines += line;
  });
}

// Starts the call in the background; its turn gets the id for a result (L2-L4). False: the turn has ended.
bool Turns::start_task(core::Node& node, std::size_t index) {
  ActiveTurn& turn = *active_turn(node);
  const std::uint32_t epoch = turn.epoch;
  const std::uint64_t number = node.turns;
  {
    PendingCall& call = turn.calls[index];
    if (call.flight) flights_.close(std::exchange(call.flight, 0) - 1);  // of its approval
    std::size_t running = 0;
    flights_.for_each(
        node, [&](std::uint32_t slot) { running += flights_[slot].kind == Flight::Kind::background; });
    if (running >= node.spec->background_tasks) {
      set_result(node, call, ToolOutcome::not_started,
                 ToolResult::failed("too many background tasks: " + std::to_string(running) +
                                    " are running; wait until one has ended"));
      return true;
    }
  }
  const PendingCall call = turn.calls[index];
  const InteractionStep& step = turn.result->steps[call.step];
  const std::string id = new_task_id(engine_);
  auto info = std::make_unique<FlightInfo>(FlightInfo{id, step.window_id, step.action_id});
  const std::uint32_t slot = flights_.open(node, Flight::Kind::background, epoch, number, std::move(info));
  tell_task(node, *flights_[slot].info, TaskState::started, {});
  if (hub_.closed()) return false;
  if (!core::admits(node, node.load().generation(), epoch)) {  // nothing of it has begun
    cancel(slot);
    if (hub_.closed()) return false;
    flights_.close(slot);
    interrupt(node);
    return false;
  }
  ActiveTurn& again = *active_turn(node);
  if (flights_[slot].over) {  // an observer of its beginning cancelled it
    flights_.close(slot);
    set_result(node, again.calls[index], ToolOutcome::not_started,
               ToolResult::failed("not started: the task was cancelled before it began"));
    return !hub_.closed() && may_go_on(node, epoch);
  }
  const std::shared_ptr<const Tool> tool = call.found.entry.tool;
  nlohmann::json arguments;
  std::shared_ptr<tools::Completion> completion;
  try {
    static_cast<void>(tools::parse_arguments(call.arguments, arguments));
    completion = tools::make_completion(scope_of(node, slot, *tool));
    const std::string data = R"({"status":"started","task_id":")" + id + R"("})";
    again.result->steps[call.step].task_id = id;
    flights_[slot].info->in_history = !again.simulated;
    set_result(node, again.calls[index], ToolOutcome::completed,
               ToolResult::done("async task started: " + id, data));
  } catch (...) {  // nothing of it has begun
    cancel(slot);
    if (!hub_.closed()) flights_.close(slot);
    throw;
  }
  if (hub_.closed()) return false;

  tools::start_call(*tool, arguments, completion);
  if (engine_.closed()) hub_.close();
  return !hub_.closed() && is_active(node) && may_go_on(node, epoch);
}

// A background task has let go.
void Turns::end_task(core::Node& node, std::uint32_t slot, ToolResult result) {
  const std::uint64_t turn = flights_[slot].turn;
  close_questions(slot);
  if (hub_.closed()) return;
  if (!core::look(node, node.load().generation()).open()) cancel(slot);
  if (hub_.closed()) return;
  const bool over = std::exchange(flights_[slot].over, true);
  const std::unique_ptr<FlightInfo> info = std::move(flights_[slot].info);
  flights_.close(slot);
  if (over) {
    if (result.success) discard(node, turn, 0, "tool result");
    return;
  }
  if (node.spec->tools)
    engine_.guarded("a tool's result", [&] {
      node.spec->tools->impl().follow_up(engine_, hub_.handle(node), info->window_id, result);
    });
  if (engine_.closed()) hub_.close();
  if (hub_.closed()) return;
  const TaskState state = result.success ? TaskState::completed : TaskState::failed;
  note_end(node, *info, state, result);
  limit(result);
  tell_task(node, *info, state, std::move(result));
}

// Its time is over: it is told to end, and has failed.
void Turns::end_late_task(core::Node& node, std::uint32_t slot, const ToolResult& result) {
  if (!core::look(node, node.load().generation()).open()) return cancel(slot);
  const std::uint64_t serial = flights_[slot].serial;
  flights_[slot].over = true;
  flights_.cut(slot);
  close_questions(slot);
  if (hub_.closed() || !flights_.find(slot, serial)) return;
  note_end(node, *flights_[slot].info, TaskState::failed, result);
  tell_task(node, *flights_[slot].info, TaskState::failed, result);
}

// It is told to end, and counts as ended for everybody else.
void Turns::cancel(std::uint32_t slot) noexcept {
  if (std::exchange(flights_[slot].over, true)) return;
  core::Node& node = *flights_[slot].node;
  const std::uint64_t serial = flights_[slot].serial;
  flights_.cut(slot);
  close_questions(slot);
  if (hub_.closed() || !flights_.find(slot, serial)) return;
  tell_task(node, *flights_[slot].info, TaskState::canceled, {});
}

void Turns::cancel_tasks(core::Node& node) noexcept {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> tasks;
  engine_.guarded("background tasks", [&] {
    flights_.for_each(node, [&](std::uint32_t slot) {
      if (flights_[slot].kind == Flight::Kind::background) tasks.emplace_back(slot, flights_[slot].serial);
    });
  });
  std::reverse(tasks.begin(), tasks.end());  // the oldest first
  for (const auto& [slot, serial] : tasks) {
    if (flights_.find(slot, serial)) cancel(slot);
    if (hub_.closed()) return;
  }
  while (cancel_newest_task(node)) {  // those that there was no memory to list
  }
}

// Cancels the newest task that is not cancelled yet. False: there was none, or the tree is gone.
bool Turns::cancel_newest_task(core::Node& node) noexcept {
  std::optional<std::uint32_t> newest;
  flights_.for_each(node, [&](std::uint32_t slot) {
    const Flight& flight = flights_[slot];
    if (!newest && flight.kind == Flight::Kind::background && !flight.over) newest = slot;
  });
  if (newest) cancel(*newest);
  return newest && !hub_.closed();
}

bool Turns::cancel_task(std::string_view task_id) {
  for (std::uint32_t slot = 0; slot < flights_.slots(); ++slot) {
    const Flight& flight = flights_[slot];
    if (!flight.node || flight.kind != Flight::Kind::background || flight.over || flight.info->id != task_id)
      continue;
    core::Node& node = *flight.node;
    const Entered entered(*this, node);
    if (core::look(node, core::generation_of(flight.agent)).open())
      note_end(node, *flight.info, TaskState::canceled, {});
    cancel(slot);
    return true;
  }
  return false;
}

std::vector<RunningTask> Turns::tasks() const {
  std::vector<RunningTask> all;
  for (std::uint32_t index = 0; index < table_.slots(); ++index) {
    const core::Node& node = table_.slot(index);
    if (node.load().is_free() || !is_active(node)) continue;
    all.push_back(
        {RunningTask::Kind::turn, {}, table_.names().name_of(node, node.id()), node.turns, {}, false});
  }
  for (std::uint32_t slot = 0; slot < flights_.slots(); ++slot) {
    const Flight& flight = flights_[slot];
    if (!flight.node) continue;
    const RunningTask::Kind kind = flight.kind == Flight::Kind::model_call  ? RunningTask::Kind::model_call
                                   : flight.kind == Flight::Kind::tool_call ? RunningTask::Kind::tool_call
                                                                            : RunningTask::Kind::background;
    all.push_back({kind, flight.info ? flight.info->id : std::string(),
                   table_.names().name_of(*flight.node, flight.agent), flight.turn,
                   flight.info ? flight.info->tool : std::string(), flight.stop.stop_requested()});
  }
  return all;
}

}  // namespace turn
}  // namespace agentcore
