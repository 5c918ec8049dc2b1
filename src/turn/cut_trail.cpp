#include "turn/cut_trail.hpp"

#include "core/gates.hpp"
#include "core/validate.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::turn {
namespace {

bool is_closed_now(const core::Node& node) noexcept {
  return !core::look(node, node.load().generation()).open();
}

// The call that is pending of that step of the turn, or null.
const Call* pending_of(const ActiveTurn& turn, std::size_t step) noexcept {
  const auto found = std::find_if(turn.calls.begin(), turn.calls.end(), [step](const auto& call) {
    return call->step == step && call->state != Call::State::done;
  });
  return found == turn.calls.end() ? nullptr : found->get();
}

}  // namespace

CutTrail::Delivery::Delivery(CutTrail& trail, const core::Node& node) noexcept
    : trail_(trail), before_(std::exchange(trail.late_delivery_, is_closed_now(node) ? node.id() : 0)) {
}

// Calls add(cuts of the agent). Without memory the record says that something is missing, if it can.
template <typename Add>
void CutTrail::change(const core::Node& node, Add&& add) noexcept {
  AgentCuts* cuts = nullptr;
  const bool done = engine_.guarded("a stop record", [&] {
    cuts = &agents_[node.id()];
    std::forward<Add>(add)(*cuts);
  });
  if (!done && cuts) cuts->complete = false;
}

void CutTrail::note_accepted(const core::Node& node) noexcept {
  if (late_delivery_ != node.id()) return;
  change(node, [](AgentCuts& cuts) { ++cuts.after_gate; });
}

void CutTrail::note_discarded(const core::Node& node, std::size_t deltas) noexcept {
  if (!is_closed_now(node) || node.load().state() == AgentState::stopped) return;
  change(node, [deltas](AgentCuts& cuts) {
    ++cuts.discarded;
    cuts.discarded_deltas += deltas;
  });
}

CutTrail::OpenCall CutTrail::open_call(const ActiveTurn& turn) noexcept {
  OpenCall call;
  call.is_open = turn.usage_pending;
  call.id = turn.operation;
  call.counted_before = turn.result->usage.total_tokens;
  if (turn.reserved.active)
    call.reserved = core::saturating_sum(turn.reserved.prompt_tokens, turn.reserved.answer_tokens);
  return call;
}

void CutTrail::add_turn(const core::Node& node, std::uint64_t number, const ActiveTurn& ended,
                        const OpenCall& call) noexcept {
  const TimePoint now = engine_.now();
  change(node, [&](AgentCuts& cuts) {
    if (call.is_open) {
      CutOperation model;
      model.turn = number;
      model.cut = now;
      model.tokens_counted = ended.result->usage.total_tokens - call.counted_before;
      model.tokens_reserved = call.reserved;
      cuts.entries.push_back({call.id, std::move(model)});
    }
    for (std::size_t step = 0; step < ended.result->calls.size(); ++step) {
      const ToolCallRecord& record = ended.result->calls[step];
      const Call* const pending = pending_of(ended, step);
      CutOperation tool;
      tool.kind = TaskKind::tool_call;
      tool.turn = number;
      tool.call_id = record.call_id;
      tool.tool = record.tool;
      tool.outcome = record.outcome;
      if (pending) tool.cut = now;
      cuts.entries.push_back({pending ? pending->operation : OperationId(), std::move(tool)});
    }
  });
}

void CutTrail::add_task(const Operation& task, ToolOutcome outcome) noexcept {
  if (!is_closed_now(*task.node)) return;
  change(*task.node, [&](AgentCuts& cuts) {
    CutOperation operation;
    operation.kind = TaskKind::background;
    operation.turn = task.turn;
    operation.call_id = task.call->names.id;
    operation.tool = task.call->names.tool;
    operation.outcome = outcome;
    operation.cut = engine_.now();
    cuts.entries.push_back({task.id, std::move(operation)});
  });
}

void CutTrail::abandon(const core::Node& node, OperationId id, CutOperation operation) noexcept {
  change(node, [&](AgentCuts& cuts) {
    const auto found = std::find_if(cuts.entries.begin(), cuts.entries.end(),
                                    [id](const AgentCuts::Entry& entry) { return entry.id == id; });
    if (found != cuts.entries.end()) {
      found->operation.outcome = ToolOutcome::abandoned;
      return;
    }
    operation.outcome = ToolOutcome::abandoned;
    cuts.entries.push_back({id, std::move(operation)});
  });
}

const AgentCuts* CutTrail::find(core::NodeId agent) const noexcept {
  const auto found = agents_.find(agent);
  return found == agents_.end() ? nullptr : &found->second;
}

void CutTrail::append(const AgentCuts& cuts, const std::string& name, StopRecord& record) {
  record.after_gate += cuts.after_gate;
  record.discarded += cuts.discarded;
  record.discarded_deltas += cuts.discarded_deltas;
  record.complete = record.complete && cuts.complete;
  for (const AgentCuts::Entry& entry : cuts.entries) {
    record.operations.push_back(entry.operation);
    record.operations.back().agent_id = name;
  }
}

std::size_t CutTrail::count(const core::References& refers) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(agents_.begin(), agents_.end(), [&](const auto& entry) { return refers(entry.first); }));
}

}  // namespace agentcore::detail::turn
