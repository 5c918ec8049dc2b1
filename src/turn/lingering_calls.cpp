#include "turn/lingering_calls.hpp"

#include "loop/time.hpp"

#include <memory>
#include <string>
#include <utility>

namespace agentcore::detail::turn {
namespace {

bool lingers(const Operation& operation) noexcept {
  return operation.over && operation.kind != Operation::Kind::background;
}

}  // namespace

void LingeringCalls::watch(core::Node& node, std::uint64_t turn) noexcept {
  environment_.operations.for_each(node, [&](const Operation& operation) {
    if (operation.turn != turn || operation.kind == Operation::Kind::background) return;
    environment_.operations[operation.id].over = true;
    start_grace(operation.id);
  });
  while (give_up_oldest(node)) {
  }
}

// Without memory the call has no grace period: it lingers until it ends, or a stop gives it up.
void LingeringCalls::start_grace(OperationId id) noexcept {
  loop::Engine& engine = environment_.engine;
  engine.guarded("a call's grace period", [&] {
    Operation& operation = environment_.operations[id];
    if (!operation.info) operation.info = std::make_unique<OperationInfo>();
    const std::uint64_t timer =
        engine.start_timer(loop::later(engine.now(), environment_.limits.grace), [this, id] {
          Operation* const late = environment_.operations.find(id);
          if (!late) return;
          core::Node& node = *late->node;
          const core::TreeLifetime::LoopEntry entry(environment_.lifetime);
          give_up(id);
          environment_.listener.on_activity_ended(node);
        });
    operation.info->timer = Timer(engine.weak_from_this(), timer);
  });
}

// False: there are no more of them than allowed.
bool LingeringCalls::give_up_oldest(core::Node& node) noexcept {
  std::size_t count = 0;
  OperationId oldest;
  environment_.operations.for_each(node, [&](const Operation& operation) {  // newest first
    if (!lingers(operation)) return;
    ++count;
    oldest = operation.id;
  });
  if (count <= environment_.limits.max_lingering_calls) return false;
  give_up(oldest);
  return !environment_.hub.closed();
}

void LingeringCalls::give_up(OperationId id) noexcept {
  const Operation& operation = environment_.operations[id];
  core::Node& node = *operation.node;
  const TaskKind kind = task_kind(operation.kind);
  const std::uint64_t turn = operation.turn;
  const std::unique_ptr<OperationInfo> info = std::move(environment_.operations[id].info);
  if (!core::look(node, node.load().generation()).open()) node.settling.has_abandoned = true;
  environment_.operations.close(id);  // first: an observer may cause the outcome
  environment_.log(LogLevel::warning, "an operation of a stopped agent did not end in time and was given up",
                   {{"agent", environment_.name_of(node)},
                    {"kind", to_string(kind)},
                    {"tool", info ? std::string_view(info->tool) : std::string_view()}});
  environment_.hub.emit(node, [&](Agent agent) {
    return Abandoned{std::move(agent), turn, kind, info ? info->tool : std::string(),
                     info ? info->id : std::string()};
  });
}

}  // namespace agentcore::detail::turn
