#include "turn/parked_turns.hpp"

#include "core/gates.hpp"
#include "turn/question_desk.hpp"
#include "turn/tool_calls.hpp"
#include "turn/turn_runner.hpp"

#include <optional>

namespace agentcore::detail::turn {

void ParkedTurns::note_pause() noexcept {
  desk_.update_clocks();
  context_.call_pauses.notify_all();
}

bool ParkedTurns::run(loop::PollBudget& budget) {
  return desk_.run(budget) && context_.call_pauses.run(budget);
}

bool ParkedTurns::has_work() const noexcept {
  return desk_.has_work() || context_.call_pauses.has_work();
}

void ParkedTurns::go_on(core::Node& node) {
  clocks_.update(node);
  const std::optional<Turn> turn = Turn::of(node);
  if (!turn || !turn->active().parked) return;
  const core::Withheld next =
      turn->active().phase == Phase::acting ? core::Withheld::all : core::Withheld::steps;
  if (turn->withheld() >= next) return;
  const AgentEntry entry(context_, node);
  runner_.run(node, [&] { return turn->is_admitted() ? Next::proceed : Next::ended; });
  context_.end_activity(node);
}

bool ParkedTurns::is_at_rest(const core::Node& node, Rest rest) const noexcept {
  const ActiveTurn* const active = active_turn(node);
  if (rest == Rest::after_turn) return !active && node.operations == 0;
  // One that a pause has parked among the tool calls of an answer is in the middle of its step.
  if (rest == Rest::after_step)
    return node.operations == 0 && (!active || (active->parked && active->phase == Phase::asked));
  if (active && node.operations == 0) return active->parked;
  bool rests = true;
  context_.operations.for_each(node, [&](const Operation& operation) { rests = rests && waits(operation); });
  return rests;
}

bool ParkedTurns::waits_for_stop(const core::Node& node) noexcept {
  const ActiveTurn* const active = active_turn(node);
  return active && active->parked && active->phase == Phase::asked && !active->delegated &&
         core::look(node, node.load().generation()).grade == core::Grade::after_step;
}

// True for an operation that does nothing but wait, for a person or for the end of a pause.
bool ParkedTurns::waits(const Operation& operation) const noexcept {
  if (operation.over) return false;
  if (task_kind(operation.kind) == TaskKind::model_call) return operation.waits;
  return desk_.has_open(operation) || !ToolCalls::has_begun(operation);
}

}  // namespace agentcore::detail::turn
