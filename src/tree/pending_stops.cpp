#include "tree/pending_stops.hpp"

#include "core/gates.hpp"
#include "tree/stop.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;

namespace {

bool is_closed(const core::AgentTable& agents, core::NodeId agent) noexcept {
  const Node* const node = agents.find(agent);
  return !node || !core::look(*node, core::generation_of(agent)).open();
}

// The strictest of what is pending for the agent.
std::optional<StopWhen> in_force(const core::AgentTable& agents, core::NodeId agent) noexcept {
  const Node* const node = agents.find(agent);
  const core::Grade grade = node ? node->load().stop_grade() : core::Grade::none;
  if (grade == core::Grade::none) return std::nullopt;
  return grade == core::Grade::after_step ? StopWhen::after_step : StopWhen::after_turn;
}

}  // namespace

void PendingStops::start(std::unique_ptr<ControlOp>& op) {
  List added(1);  // all allocations come first
  const core::NodeId agent = op->agent;
  if (op->took_effect && tree_.table.find(agent)) rest_.add(agent, RestWatches::Cause::stop);
  if (op->escalate_at && op->took_effect)
    added.front().escalation =
        Timer(tree_.engine->weak_from_this(),
              tree_.engine->start_timer(*op->escalate_at, [this, agent] { escalate(agent); }));
  List& stops = pending_[agent].stops;
  added.front().op = std::move(op);
  const ControlOp& started = *added.front().op;
  const bool took_effect = started.took_effect;
  const StopOrigin origin = started.origin;
  const StopWhen when = started.when;
  stops.splice(stops.end(), added);
  scheduler_.expect_parked();
  // Another verb came before its operation was read, or the one that it waits for is over.
  const auto is_effective = [](const Pending& pending) { return pending.op->took_effect; };
  if (is_closed(tree_.table, agent) || std::none_of(stops.begin(), stops.end(), is_effective)) {
    harden(agent);
    return;
  }
  if (!took_effect) return;
  stops.back().reported = in_force(tree_.table, agent).value_or(when);
  report(agent, *stops.back().reported, false, origin);
}

void PendingStops::report(core::NodeId agent, StopWhen when, bool withdrawn, const StopOrigin& origin) {
  const Node* const node = tree_.table.find(agent);
  if (!node) return;
  const bool all = node->is_root_sentinel();
  tree_.engine->guarded("a log record", [&] {
    tree_.engine->log(LogLevel::info,
                      withdrawn ? "a deferred stop was withdrawn" : "a deferred stop is pending",
                      {{"agent", all ? std::string() : tree_.table.names().name_of(*node, agent)},
                       {"when", to_string(when)},
                       {"caller", origin.caller()},
                       {"reason", origin.reason()}});
  });
  if (hub_.closed() || all) return;
  hub_.emit(*node, [&](Agent handle) { return StopPending{std::move(handle), when, withdrawn, origin}; });
}

// The stops of that agent, which are not pending any more.
PendingStops::List PendingStops::take(core::NodeId agent) noexcept {
  const auto found = pending_.find(agent);
  if (found == pending_.end()) return {};
  due_ -= found->second.is_due;
  List taken = std::move(found->second.stops);
  pending_.erase(found);
  return taken;
}

void PendingStops::withdraw(const ControlOp& op) {
  withdrawn_ = op.withdrawals;
  rest_.remove(op.agent, RestWatches::Cause::stop);
  const List taken = take(op.agent);  // destroyed at the end: its functions are the host's
  scheduler_.visit_agents();
  const auto last =
      std::find_if(taken.rbegin(), taken.rend(), [](const Pending& p) { return p.reported.has_value(); });
  if (last != taken.rend()) report(op.agent, *last->reported, true, last->op->origin);
  harden_due();
}

// Ends early if one more withdrawal is queued.
void PendingStops::harden_due() {
  for (auto at = pending_.begin(); due_ != 0 && at != pending_.end() && !hub_.closed();) {
    const core::NodeId agent = at->first;
    if (at->second.is_due && !harden(agent)) return;
    at = pending_.upper_bound(agent);
  }
}

void PendingStops::escalate(core::NodeId agent) {
  const LoopEntry entry(tree_.lifetime);
  harden(agent);
}

// The strongest comes first: a delete, a stop of the subtree, the newest of these. The others wait for it.
bool PendingStops::harden(core::NodeId agent) {
  auto taken = pending_.extract(agent);
  if (!taken) return true;
  rest_.remove(agent, RestWatches::Cause::stop);
  Waiting& waiting = taken.mapped();
  due_ -= std::exchange(waiting.is_due, false);
  const auto rank = [](const Pending& pending) {
    const ControlOp& op = *pending.op;
    return (op.took_effect ? 4 : 0) + (op.verb == Verb::terminate ? 2 : 0) + (op.cascade ? 1 : 0);
  };
  waiting.stops.reverse();
  waiting.stops.sort([&](const Pending& a, const Pending& b) { return rank(a) > rank(b); });
  // Before it may have to wait: an ancestor that is closed settles the agent, which then has this cause.
  const ControlOp& first = *waiting.stops.front().op;
  Node* const node = tree_.table.find(agent);
  if (node && first.verb == Verb::stop && first.took_effect) settler_.keep_own_stop(*node, first.cause);
  for (Pending& pending : waiting.stops) pending.op = tree::harden(tree_, std::move(pending.op), withdrawn_);
  has_hardened_ = true;
  std::erase_if(waiting.stops, [](const Pending& pending) { return !pending.op; });
  if (waiting.stops.empty()) return true;
  waiting.is_due = true;
  ++due_;
  pending_.insert(std::move(taken));
  return false;
}

// Only a stop with descendants looks at the others that are pending.
void PendingStops::note_closed(core::NodeId agent, bool cascade) {
  const Node* const node = tree_.table.find(agent);
  if (node && cascade && node->first_child != core::no_node) {
    unchecked_ = pending_.size();
  } else if (const auto at = pending_.find(agent); at != pending_.end() && !at->second.is_due) {
    harden(agent);
  }
}

bool PendingStops::harden_closed(loop::PollBudget& budget) {
  while (unchecked_ != 0 && !pending_.empty() && !hub_.closed()) {
    if (!budget.spend()) return false;
    --unchecked_;
    auto at = pending_.upper_bound(checked_);
    if (at == pending_.end()) at = pending_.begin();
    checked_ = at->first;
    if (!at->second.is_due && is_closed(tree_.table, checked_)) harden(checked_);
  }
  unchecked_ = 0;
  return !hub_.closed();
}

std::size_t PendingStops::count(const core::References& refers) const noexcept {
  std::size_t count = 0;
  for (const auto& [agent, waiting] : pending_)
    if (refers(agent)) count += waiting.stops.size();
  return count;
}

}  // namespace agentcore::detail::tree
