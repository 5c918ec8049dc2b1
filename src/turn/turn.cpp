#include "turn/turn.hpp"

#include "core/transitions.hpp"

#include <optional>

namespace agentcore::detail::turn {

bool try_change_state(core::Node& node, std::uint32_t epoch, AgentState from, AgentState to) noexcept {
  core::PackedState packed = node.load();
  std::optional<core::PackedState> after;
  do {
    after = core::after_step(packed, epoch, from, to);
    if (!after) return false;
  } while (!node.replace(packed, *after));
  return true;
}

DiscardReason why_refused(const core::Node& node) noexcept {
  const core::GateView view = core::look(node, node.load().generation());
  if (!view.open())
    return view.effective == AgentState::terminating ? DiscardReason::deleted : DiscardReason::stopped;
  return core::is_interrupted(node) || view.own.was_interrupted() ? DiscardReason::interrupted
                                                                  : DiscardReason::aborted;
}

void write_interrupted(core::Node& node, std::uint32_t epoch) noexcept {
  core::PackedState packed = node.load();
  while (packed.epoch() == epoch) {
    const std::optional<core::PackedState> after = core::after_interrupt(packed, false);
    if (!after || node.replace(packed, *after)) return;
  }
}

bool Turn::try_change_state(AgentState from, AgentState to) const noexcept {
  return turn::try_change_state(*node_, epoch_, from, to);
}

bool Turn::change_state(events::EventHub& hub, AgentState from, AgentState to) const noexcept {
  if (!is_open() || !try_change_state(from, to)) return false;
  hub.emit_working_state(*node_, to, epoch_);
  return is_admitted();
}

}  // namespace agentcore::detail::turn
