#include "turn/turns.hpp"

#include "core/transitions.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace agentcore::detail::turn {
void Turns::interrupt_before(core::Node& node, std::uint32_t epoch) noexcept {
  const std::optional<Turn> turn = Turn::of(node);
  if (!turn) return;
  const std::uint32_t age = (epoch - turn->epoch()) & core::PackedState::epoch_mask;
  if (age != 0 && age <= core::PackedState::epoch_mask / 2) ends_.interrupt(*turn);
}

void Turns::interrupt(core::Node& node) noexcept {
  const std::optional<Turn> turn = Turn::of(node);
  if (!turn) return;
  core::PackedState packed = node.load();
  if (core::look(node, packed.generation()).open())
    while (const std::optional<core::PackedState> after = core::after_interrupt(packed, false))
      if (node.replace(packed, *after)) break;
  ends_.interrupt(*turn);
  ends_.report(node);
}

void Turns::stop(core::Node& node) noexcept {
  if (const std::optional<Turn> turn = Turn::of(node)) ends_.interrupt(*turn);
  if (node.operations != 0) tasks_.cancel_all(node);
}

void Turns::abandon(std::uint32_t slot) noexcept {
  lingering_.give_up(context_.operations.at_slot(slot).id);
}

void Turns::finish_call(core::NodeId agent, std::string_view call_id) noexcept {
  core::Node* const node = context_.find(agent);
  if (!node) return;
  const AgentEntry entry(context_, *node);
  tool_calls_.finish(*node, call_id);
  context_.listener.on_activity_ended(*node);
}

std::vector<RunningTask> Turns::tasks() const {
  const core::AgentTable& table = context_.table;
  std::vector<RunningTask> all;
  for (std::uint32_t index = 0; index < table.slots(); ++index) {
    const core::Node& node = table.slot(index);
    if (node.load().is_free()) continue;
    const ActiveTurn* const active = active_turn(node);
    if (!active && runner_.handling() != &node) continue;
    all.push_back({RunningTask::Kind::turn,
                   {},
                   table.names().name_of(node, node.id()),
                   node.turns,
                   active ? active->message : runner_.handled_message(),
                   {},
                   false});
  }
  for (std::uint32_t slot = 0; slot < context_.operations.slots(); ++slot) {
    const Operation& operation = context_.operations.at_slot(slot);
    if (!operation.node) continue;
    const OperationInfo* const info = operation.info.get();
    all.push_back({task_kind(operation.kind), info ? info->id : std::string(),
                   table.names().name_of(*operation.node, operation.agent), operation.turn, operation.message,
                   info ? info->tool : std::string(), operation.stop.stop_requested()});
  }
  return all;
}

std::size_t Turns::count(const core::References& refers) const noexcept {
  std::size_t count = desk_.count(refers) + permissions_.count(refers) + context_.claims.count(refers) +
                      context_.ended_turns.count(refers) + context_.end_reasons.count(refers);
  for (std::uint32_t slot = 0; slot < context_.operations.slots(); ++slot) {
    const Operation& operation = context_.operations.at_slot(slot);
    count += operation.node && refers(operation.agent);
  }
  return count;
}

void Turns::clear() {
  desk_.clear();
  permissions_.clear();
  context_.ended_turns.clear();
  context_.operations.drop_timers_and_tools();
}

}  // namespace agentcore::detail::turn
