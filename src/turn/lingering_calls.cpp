#include "turn/lingering_calls.hpp"

#include "core/gates.hpp"
#include "loop/time.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace agentcore::detail::turn {
namespace {

bool is_of_model(const Operation& operation) noexcept {
  return operation.kind == Operation::Kind::model_call || operation.kind == Operation::Kind::summary;
}

}  // namespace

void LingeringCalls::add(OperationId id) noexcept {
  const core::Node& node = *context_.operations[id].node;
  if (!start_grace(id)) give_up(id);
  limit(node);
}

void LingeringCalls::watch(OperationId id) noexcept {
  const core::Node& node = *context_.operations[id].node;
  start_grace(id);
  limit(node);
}

void LingeringCalls::watch_all(const core::Node& node, std::uint64_t turn) noexcept {
  context_.operations.for_each(node, [&](const Operation& operation) {
    if (operation.turn == turn && operation.kind != Operation::Kind::background) start_grace(operation.id);
  });
}

void LingeringCalls::give_up_left(const core::Node& node, std::uint64_t turn) noexcept {
  give_up_unwatched(node, turn, [](const Operation& operation) noexcept {
    return operation.over && operation.kind != Operation::Kind::background;
  });
  limit(node);
}

void LingeringCalls::give_up_unwatched(const core::Node& node, std::uint64_t turn) noexcept {
  give_up_unwatched(node, turn, is_of_model);
}

void LingeringCalls::give_up_unwatched(const core::Node& node, std::uint64_t turn,
                                       bool (*counts)(const Operation&) noexcept) noexcept {
  const auto is_unwatched = [&](const Operation& operation) {
    return operation.turn == turn && operation.over && counts(operation) && !operation.lingers;
  };
  for (;;) {
    OperationId unwatched;
    context_.operations.for_each(node, [&](const Operation& operation) {
      if (is_unwatched(operation)) unwatched = operation.id;
    });
    if (!unwatched) return;
    give_up(unwatched);
  }
}

// False without memory for the timer: the call has no grace period.
bool LingeringCalls::start_grace(OperationId id) noexcept {
  Operation& operation = context_.operations[id];
  operation.over = true;
  loop::Engine& engine = context_.engine;
  return engine.guarded("a call's grace period", [&] {
    if (operation.lingers) return;
    const std::uint64_t timer = engine.start_timer(loop::later(engine.now(), context_.limits.stop_grace),
                                                   [this, id] { on_grace_over(id); });
    operation.timer = Timer(engine.weak_from_this(), timer);  // instead of the time-out of the call
    operation.lingers = true;
  });
}

// Gives up the oldest lingering calls of an agent that has too many.
void LingeringCalls::limit(const core::Node& node) noexcept {
  for (;;) {
    std::size_t count = 0;
    OperationId oldest;
    context_.operations.for_each(node, [&](const Operation& operation) {  // newest first
      if (!operation.lingers) return;
      ++count;
      oldest = operation.id;
    });
    if (count <= context_.limits.max_lingering_calls) return;
    give_up(oldest);
  }
}

void LingeringCalls::on_grace_over(OperationId id) noexcept {
  const Operation* const operation = context_.operations.find(id);
  if (!operation) return;
  core::Node& node = *operation->node;
  const AgentEntry entry(context_, node);
  give_up(id);
  context_.end_activity(node);
}

void LingeringCalls::note_abandoned(const core::Node& node, OperationId id, TaskKind kind, std::uint64_t turn,
                                    const Call* call) noexcept {
  context_.engine.guarded("a stop record", [&] {
    CutOperation operation;
    operation.kind = kind;
    operation.turn = turn;
    if (call) {
      operation.call_id = call->names.id;
      operation.tool = call->names.tool;
    }
    context_.cuts->abandon(node, id, std::move(operation));
  });
}

void LingeringCalls::give_up(OperationId id) noexcept {
  Operation& operation = context_.operations[id];
  core::Node& node = *operation.node;
  const TaskKind kind = task_kind(operation.kind);
  const std::uint64_t turn = operation.turn;
  const bool stopped = !core::look(node, core::generation_of(operation.agent)).open();
  const std::shared_ptr<Call> call = operation.call;
  if (stopped) node.settling.has_abandoned = true;
  if (operation.kind == Operation::Kind::background) context_.call_index.remove(*call);
  context_.operations.close(id);  // first: what follows may cause the outcome
  context_.listener.on_waiting(node);
  if (stopped && context_.cuts) note_abandoned(node, id, kind, turn, call.get());
  context_.log(LogLevel::warning,
               stopped ? "an operation of a stopped agent did not end in time and was given up"
                       : "a cancelled call did not end in time and was given up",
               {{"agent", context_.name_of(node)},
                {"kind", to_string(kind)},
                {"tool", call ? std::string_view(call->names.tool) : std::string_view()}});
  if (kind == TaskKind::tool_call && call && node.data)
    data_of(node).conversation.abandon(turn, call->names.id);
  context_.hub.emit(node, [&](Agent agent) {
    return Abandoned{std::move(agent), turn, kind, call ? call->names.tool : std::string(),
                     call ? call->names.id : std::string()};
  });
}

}  // namespace agentcore::detail::turn
