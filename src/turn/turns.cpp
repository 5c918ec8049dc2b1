#include "turn/turns.hpp"

#include "core/transitions.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace agentcore::detail::turn {

using Step = events::Porch::Step;

void Turns::on_activity_ended(core::NodeId agent) noexcept {
  if (agent != 0) {
    if (core::Node* const node = context_.find(agent)) end_activity(*node);
    return;
  }
  for (std::uint32_t slot = 0; slot < context_.table.slots() && !context_.hub.closed(); ++slot) {
    core::Node& node = context_.table.slot(slot);
    if (!node.load().is_free() && !node.is_root_sentinel()) end_activity(node);
  }
}

void Turns::end_activity(core::Node& node) noexcept {
  const core::TreeLifetime::LoopEntry entry(context_.lifetime);
  if (!is_active(node)) ends_.stop_exhausted(node);
  if (!context_.hub.closed()) context_.listener.on_activity_ended(node);
}

void Turns::interrupt_before(core::Node& node, std::uint32_t epoch) noexcept {
  const std::optional<Turn> turn = Turn::of(node);
  if (!turn) return;
  const std::uint32_t age = (epoch - turn->epoch()) & core::PackedState::epoch_mask;
  if (age == 0 || age > core::PackedState::epoch_mask / 2) return;
  {
    const Step step(context_.hub.porch, false);
    ends_.end(*turn, TurnEnd::refused);
  }
  ends_.stop_exhausted(node);
}

void Turns::interrupt(core::Node& node) noexcept {
  const std::optional<Turn> turn = Turn::of(node);
  if (!turn) return;
  core::PackedState packed = node.load();
  if (core::look(node, packed.generation()).open())
    while (const std::optional<core::PackedState> after = core::after_interrupt(packed, false))
      if (node.replace(packed, *after)) break;
  const Step step(context_.hub.porch);
  ends_.end(*turn, TurnEnd::refused);
  ends_.report(node);
}

bool Turns::end_refused(core::Node& node) noexcept {
  const Step step(context_.hub.porch);
  if (!ends_.end_refused(node)) return false;
  ends_.report(node);
  return true;
}

void Turns::stop(core::Node& node) noexcept {
  {
    const Step step(context_.hub.porch, false);
    if (const std::optional<Turn> turn = Turn::of(node)) ends_.end(*turn, TurnEnd::refused);
    if (node.operations != 0) call_ends_.cancel_tasks(node);
  }
  ends_.stop_exhausted(node);  // now: the agent may be deleted next
}

void Turns::abandon(std::uint32_t slot) noexcept {
  const Step step(context_.hub.porch, false);
  lingering_.give_up(context_.operations.at_slot(slot).id);
}

void Turns::finish_call(core::NodeId agent, std::string_view call_id) noexcept {
  core::Node* const node = context_.find(agent);
  if (!node) return;
  const AgentEntry entry(context_, *node);
  call_ends_.finish(*node, call_id);
  context_.end_activity(*node);
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
    const Call* const call = operation.call.get();
    all.push_back({task_kind(operation.kind), call ? call->names.id : std::string(),
                   table.names().name_of(*operation.node, operation.agent), operation.turn, operation.message,
                   call ? call->names.tool : std::string(), operation.stop.stop_requested()});
  }
  return all;
}

std::size_t Turns::count(const core::References& refers) const noexcept {
  std::size_t count = desk_.count(refers) + permissions_.count(refers) + context_.call_index.count(refers) +
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
  context_.call_index.release_tools();
}

}  // namespace agentcore::detail::turn
