#include "tree/agent_settler.hpp"

#include "core/gates.hpp"
#include "core/transitions.hpp"
#include "tree/dropped_messages.hpp"
#include "tree/steered_messages.hpp"

namespace agentcore::detail::tree {

using core::Node;
using core::PackedState;
using core::Visit;

namespace {

// True if the operation of a delete of an ancestor has been read (invariant 3). A delete whose operation has
// not been read settles the agent later, whatever the gates are.
bool is_deleted_above(const Node& node) noexcept {
  const Node* up = node.parent.load(std::memory_order_relaxed);
  while (up && !up->settling.is_deleting) up = up->parent.load(std::memory_order_relaxed);
  return up;
}

// A stop goes before a delete (X13): an agent that can still process is stopped before it is deleted.
bool stops_first(const Node& node, bool deleting) noexcept {
  const PackedState packed = node.load();
  return packed.state() == AgentState::stopping ||
         (can_process(packed.state()) && (!deleting || core::stop_state(node) == AgentState::stopping));
}

// True if a stop without its descendants has visited the agent, and was widened since (invariant 7).
bool is_widened(const core::Settling& settling, PackedState packed) noexcept {
  return settling.is_alone && (settling.is_widened || packed.gate() == core::Gate::stop_tree);
}

}  // namespace

bool AgentSettler::is_ready(const Node& node) noexcept {
  return node.settling.is_visited() && node.operations == 0 && node.settling.unsettled_children == 0 &&
         !is_widened(node.settling, node.load());
}

void AgentSettler::count_in_parent(Node& node) noexcept {
  if (node.settling.counted_in_parent) return;
  node.settling.counted_in_parent = true;
  ++node.parent.load(std::memory_order_relaxed)->settling.unsettled_children;
}

void AgentSettler::settle_if_ready(Node& node) noexcept {
  if (is_ready(node)) settle_upwards(node, is_deleted_above(node), nullptr);
}

void AgentSettler::settle_upwards(Node& node, bool deleting_above, const SettleJob* walk) noexcept {
  for (Node* next = &node; next;) {
    if (reports_.are_wanted() && !record(*next, deleting_above)) return;
    Node* const parent = next->parent.load(std::memory_order_relaxed);
    const bool counted = next->settling.counted_in_parent;
    const bool ends_walk = walk && next == walk->root;
    next->settling.counted_in_parent = false;
    const Outcome outcome = settle(*next, deleting_above, walk);
    if (ends_walk) walk = nullptr;  // its job may be destroyed
    // The ancestors wait for the agent until its delete settles it.
    if (outcome == Outcome::waits_for_delete) next->settling.counted_in_parent = counted;
    if (outcome != Outcome::settled || !counted) return;
    --parent->settling.unsettled_children;
    next = is_ready(*parent) ? parent : nullptr;
    // The delete may have begun at this agent, and a stop above may have waited for it.
    if (next && deleting_above) deleting_above = is_deleted_above(*next);
  }
}

// Writes the name of `node` into its reports, which allocates. False when an allocation fails: then nothing
// has changed, the ancestors of `node` wait for it, and the next run of the settler tries again.
bool AgentSettler::record(Node& node, bool deleting_above) noexcept {
  const bool deleting = deleting_above || node.settling.is_deleting;
  if (reports_.record(node, stops_first(node, deleting), deleting && node.first_child == core::no_node))
    return true;
  if (!node.is_root_sentinel()) count_in_parent(node);
  retry_later();
  return false;
}

// Nothing of the agent and its subtree is in flight: writes the end and reports it.
AgentSettler::Outcome AgentSettler::settle(Node& node, bool deleting_above, const SettleJob* walk) noexcept {
  const core::NodeId id = node.id();
  const bool has_jobs = node.settling.is_job_root;
  const bool deleting = deleting_above || node.settling.is_deleting;
  node.settling.visit = Visit::none;
  node.settling.is_overdue = node.settling.is_overdue_alone = false;
  turns_.stop(node);  // a turn that is parked has no operation that would have ended it
  if (hub_.closed()) return Outcome::tree_gone;
  reports_.take_cuts(node, stops_first(node, deleting), deleting && node.first_child == core::no_node);
  stop(node, deleting, walk);
  if (hub_.closed()) return Outcome::tree_gone;
  // Where a stop meets an agent whose delete waits for it (X13), the agents below have only been stopped: the
  // delete settles all of them.
  const bool removes = deleting && node.first_child == core::no_node;
  if (removes) {
    remove(node, walk);
    if (hub_.closed()) return Outcome::tree_gone;
  } else {
    node.settling.has_abandoned = false;
    node.settling.has_own_verb = deleting;
  }
  if (has_jobs) {
    reports_.complete(id);
    if (hub_.closed()) return Outcome::tree_gone;
  }
  return deleting && !removes ? Outcome::waits_for_delete : Outcome::settled;
}

// The jobs are searched only for an observer.
events::Why AgentSettler::why_of(const Node& node, AgentState to, const SettleJob* walk) const noexcept {
  constexpr EventKinds kinds = event_kind<StateChanged> | event_kind<Settled> | event_kind<AgentDeleted>;
  return hub_.wants(kinds) ? jobs_.why(node, to, walk) : events::Why();
}

// Writes and reports `stopped`, unless the agent has stopped before or is deleted without a stop.
void AgentSettler::stop(Node& node, bool deleting, const SettleJob* walk) noexcept {
  const PackedState packed = node.load();
  if (stops_first(node, deleting)) {
    const mailbox::DroppedMessages dropped = write_stopped(node);
    reports_.count_dropped(node, dropped, false);
    if (node.is_root_sentinel()) return;
    const events::Why why = why_of(node, AgentState::stopped, walk);
    hub_.emit_state(node, AgentState::stopped, why);
    if (dropped.count() != 0) report_dropped(hub_, node, dropped, DropReason::stopped);
    if (!tree_.steers.empty() && !hub_.closed()) return_steered(tree_, hub_, node, Errc::agent_stopped);
    if (!hub_.closed()) hub_.emit_settled(node, AgentState::stopped, why, dropped.count());
  } else if (packed.state() == AgentState::stopped &&
             !mailbox::is_closed(node, packed.generation(), packed.epoch())) {
    // Its stop was widened: from now on it can be resumed. Its mailbox was closed, and is empty.
    static_cast<void>(mailbox::close(node, tree_.pool, packed.epoch()));
  }
}

// Closes the mailbox, then writes `stopped`, which is what a resume waits for. If another thread widens the
// stop just now, a resume has to wait for the walk of that stop, too.
mailbox::DroppedMessages AgentSettler::write_stopped(Node& node) noexcept {
  mailbox::DroppedMessages dropped;
  PackedState packed = node.load();
  PackedState desired;
  do {
    desired = core::after_settle(packed);
    dropped.append(mailbox::close(node, tree_.pool, desired.epoch()));
    if (is_widened(node.settling, packed)) desired = desired.next_epoch();
  } while (!node.replace(packed, desired));
  return dropped;
}

// The end of a deleted agent: reported, then removed from every table (D3, D4, G13).
void AgentSettler::remove(Node& node, const SettleJob* walk) noexcept {
  PackedState packed = node.load();
  while (!node.replace(packed, core::after_remove(packed))) {
  }
  const mailbox::DroppedMessages dropped = mailbox::close(node, tree_.pool, packed.epoch());
  if (!node.settling.has_own_verb) node.settling.cause = StopCause::parent;
  reports_.count_dropped(node, dropped, true);
  const events::Why why = why_of(node, AgentState::terminating, walk);
  hub_.emit_state(node, AgentState::terminating, why);
  if (hub_.closed()) return;
  report_dropped(hub_, node, dropped, DropReason::deleted);
  if (!hub_.closed()) return_steered(tree_, hub_, node, Errc::agent_terminating);
  if (hub_.closed()) return;
  hub_.emit_settled(node, AgentState::terminating, why, dropped.count());
  if (hub_.closed()) return;
  hub_.emit(node, [&](Agent agent) { return AgentDeleted{std::move(agent), why.cause, why.origin}; });
  if (hub_.closed()) return;
  jobs_.step_past(node);
  rest_.check(node);
  const core::NodeId id = node.id();
  persist::Recorder* const recorder = tree_.recorder();
  tree_.forks.remove(tree_.table, node, recorder);
  tree_.table.erase(node);
  if (recorder) recorder->note_change(id);
}

}  // namespace agentcore::detail::tree
