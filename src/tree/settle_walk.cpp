#include "tree/settle_walk.hpp"

#include "core/gates.hpp"
#include "core/transitions.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/settler.hpp"

#include <algorithm>
#include <optional>

namespace agentcore::detail::tree {

using core::Node;
using core::PackedState;
using core::Visit;

namespace {

constexpr std::size_t most_cursors = 12;

// Twelve cursors, or one if `root` has no children. The first of them is at `root`, the others are idle.
template <typename Cursor>
void start(std::vector<Cursor>& cursors, Node& root) {
  cursors.resize(root.first_child == core::no_node ? 1 : most_cursors);
  cursors.front() = Cursor(root);
}

// An idle cursor, or null.
template <typename Cursor>
Cursor* idle(std::vector<Cursor>& cursors) noexcept {
  const auto found =
      std::find_if(cursors.begin(), cursors.end(), [](const Cursor& one) { return !one.at(); });
  return found == cursors.end() ? nullptr : &*found;
}

void prefetch(const Node* node) noexcept {
  if (!node) return;
  __builtin_prefetch(node, 1);
  __builtin_prefetch(reinterpret_cast<const char*>(node) + 64, 1);
}

// Before its gate is closed and its state changes, which may take several polls: an observer, a commit and an
// export see the agent in between.
void stop_with_ancestor(Node& node) noexcept {
  const AgentState state = node.load().state();
  node.settling.cause = StopCause::parent;
  node.settling.stopped_by_ancestor = can_process(state) || state == AgentState::stopping;
}

}  // namespace

Progress SettleWalk::run(SettleJob& job, loop::PollBudget& budget) {
  if (job.phase == SettleJob::Phase::resuming) return resume_down(job, budget);
  if (job.phase == SettleJob::Phase::marking) {
    const Progress marked = mark_down(job, budget);
    if (marked != Progress::done) return marked;
    std::vector<ParentFirstCursor>().swap(job.markers);
    job.phase = SettleJob::Phase::settling;
  }
  return settle_up(job, budget);
}

// A stop skips the subtree of an agent that is already stopped with its children, and agents that an earlier
// walk waits for. A delete skips only the subtrees that an earlier delete waits for.
bool SettleWalk::skips(const SettleJob& job, const Node& node) const noexcept {
  if (&node == job.root) return !job.op->cascade;
  const PackedState packed = node.load(std::memory_order_relaxed);
  // Where a delete waits for a stop without the children, no walk has visited the children yet.
  if (job.op->verb == Verb::terminate || packed.gate() == core::Gate::terminate)
    return node.settling.visit == Visit::by_delete;
  return packed.closes_subtree() && (node.settling.is_visited() || packed.state() == AgentState::stopped);
}

// The verb of the walk has closed the agent, of which a stop is pending: the first walk that comes to the
// agent hardens it, before an agent below settles. The loop has read all withdrawals of such a stop: a resume
// is refused from the close of the gate until the walk is over.
void SettleWalk::harden_pending(const Node& node) {
  if (jobs_.has_pending() && node.settling.is_job_root) static_cast<void>(settler_.harden(node.id()));
}

// Reports the effect of the closed gate, parents before children (X14).
Progress SettleWalk::mark_down(SettleJob& job, loop::PollBudget& budget) {
  if (!hub_.wants_states()) return Progress::done;
  if (job.markers.empty()) start(job.markers, *job.root);
  for (bool any = true; any && hub_.wants_states();) {
    any = false;
    for (ParentFirstCursor& marker : job.markers) {
      if (!marker.at()) continue;
      if (!budget.spend()) return Progress::more;
      Node& node = *marker.at();
      harden_pending(node);
      if (hub_.closed()) return Progress::tree_gone;
      const bool skipped = skips(job, node);
      pass(job, marker, !skipped);
      any = true;
      if (&node != job.root && (skipped || node.settling.is_visited())) continue;
      mark(job, node);
      if (hub_.closed()) return Progress::tree_gone;
    }
  }
  return Progress::done;
}

// Moves `marker` past its agent. If another one is idle, that one takes over the agents after the subtree,
// and this one keeps the subtree.
void SettleWalk::pass(SettleJob& job, ParentFirstCursor& marker, bool descend) {
  const auto other = descend && marker.at()->first_child != core::no_node ? idle(job.markers) : nullptr;
  if (other) {
    *other = marker.split(table_);
    prefetch(other->at());
  } else {
    marker.advance(table_, descend);
  }
  prefetch(marker.at());
}

// Writes and reports the effective state of `node`, where it is `stopping` or `terminating`.
void SettleWalk::mark(const SettleJob& job, Node& node) {
  if (node.is_root_sentinel()) return;
  const AgentState to = core::stop_state(node);
  if (to != AgentState::stopping && to != AgentState::terminating) return;
  if (&node != job.root && !node.settling.has_own_verb) stop_with_ancestor(node);
  for (PackedState packed = node.load(); packed.state() != to;) {
    // A stopped agent reports its delete now, unless a stop below it takes precedence: then it reports it
    // when it is removed.
    const std::optional<PackedState> desired =
        core::after_imposed(packed, to, mailbox::is_settled(node, packed));
    if (!desired) return;
    if (node.replace(packed, *desired)) break;
  }
  hub_.emit_state(node, to, jobs_.why(node, to, &job));
}

Progress SettleWalk::settle_up(SettleJob& job, loop::PollBudget& budget) {
  if (job.walkers.empty()) start(job.walkers, *job.root);
  const std::size_t count = job.walkers.size();
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < count; ++i) {
      ChildFirstCursor& walker = job.walkers[i];
      if (!walker.at()) continue;
      if (!budget.spend()) return Progress::more;
      const Progress stepped = step(job, walker);
      if (stepped != Progress::more) return stepped;
      any = true;
    }
  }
  jobs_.end_walk(job);
  return Progress::done;
}

// One step of one walker: a level down, or a visit. `done`: the job has ended, and is destroyed.
Progress SettleWalk::step(SettleJob& job, ChildFirstCursor& walker) {
  Node& node = *walker.at();
  harden_pending(node);
  if (hub_.closed()) return Progress::tree_gone;
  if (walker.is_before_children() && !skips(job, node) && node.first_child != core::no_node) {
    descend(job, walker);
  } else {
    walker.advance(table_);
    visit(job, node);
    if (hub_.closed()) return Progress::tree_gone;
    if (jobs_.front() != &job) return Progress::done;
  }
  prefetch(walker.at());
  return Progress::more;
}

// Moves down to the first child. If another walker is idle, that one takes over the agents after this
// subtree, and this one keeps the subtree; the agent counts as unsettled until its subtree is done (invariant
// 2).
void SettleWalk::descend(SettleJob& job, ChildFirstCursor& walker) {
  Node& node = *walker.at();
  if (&node != walker.root()) {
    if (ChildFirstCursor* const other = idle(job.walkers)) {
      *other = walker.split(table_);
      prefetch(other->at());
      AgentSettler::count_in_parent(node);
    }
  }
  walker.descend(table_);
}

// The children of `node` have been visited: settles it now, or later at the end of the operations or children
// that it waits for.
void SettleWalk::visit(const SettleJob& job, Node& node) {
  core::Settling& settling = node.settling;
  const bool is_root = &node == job.root;
  const bool deletes = job.op->verb == Verb::terminate;
  const bool was_visited = settling.is_visited();
  if (!is_root && !was_visited && !deletes && node.load().state() == AgentState::stopped)
    return visit_stopped(job, node);
  settling.visit = std::max(settling.visit, deletes ? Visit::by_delete : Visit::by_stop);
  settling.is_alone = is_root && !job.op->cascade;
  if (!settling.is_alone) settling.is_widened = false;
  if (!is_root && was_visited) return AgentSettler::count_in_parent(node);
  if (!is_root && !settling.has_own_verb) stop_with_ancestor(node);
  if (AgentSettler::is_ready(node)) return agents_.settle_upwards(node, deletes, &job);
  if (!is_root) AgentSettler::count_in_parent(node);
}

// A stop visits an agent that was stopped without its children. One of the children may delay the stop, or
// another walker has counted the agent in its parent.
void SettleWalk::visit_stopped(const SettleJob& job, Node& node) {
  if (node.settling.unsettled_children == 0 && !node.settling.counted_in_parent) return;
  node.settling.visit = Visit::by_stop;
  if (node.settling.unsettled_children == 0) return agents_.settle_upwards(node, false, &job);
  AgentSettler::count_in_parent(node);
}

// stopped -> idle, from the root down through the agents that stopped because of it. Ends early when the root
// is closed again.
Progress SettleWalk::resume_down(SettleJob& job, loop::PollBudget& budget) {
  const core::NodeId id = job.op->agent;
  while (job.cursor) {
    if (!budget.spend()) return Progress::more;
    const core::GateView view = core::look(*job.root, core::generation_of(id));
    // A stop of the root alone does not close its subtree.
    if (!view.valid || view.own.closes_subtree() || view.above != core::Gate::open) break;
    Node& node = *job.cursor;
    const bool below = resume(job, node);
    if (hub_.closed()) return Progress::tree_gone;
    job.cursor = next_parent_first(table_, *job.root, node, below && job.op->cascade);
  }
  jobs_.remove(job);
  return Progress::done;
}

// An agent that stopped because of the root: it gets a whole lease, and is idle. The end of a lease and a
// stop() of this very agent exclude that by the mutex of the verbs. False: it is not to be resumed.
bool SettleWalk::reopen(Node& node) noexcept {
  const core::Lock lock(tree_.closing);
  if (node.extends_below(Node::stays_stopped | Node::unusable)) return false;
  PackedState packed = node.load();
  std::optional<PackedState> idle;
  do {  // again if another thread has changed another field, e.g. paused the agent
    idle = core::after_resume(packed, mailbox::is_settled(node, packed));
    if (!idle) return false;
    if (packed.has_lease())
      if (const auto lease = table_.leases().find(node.id())) lease->reopen();
  } while (!node.replace(packed, *idle));
  mailbox::open(node, packed.generation(), packed.epoch());
  return true;
}

// A resume of the agent itself is under way, which the loop has not read yet: it decides on the agents that
// stopped because of this one.
bool SettleWalk::decides_below(const Node& node) noexcept {
  return node.load().is_open() && node.reported == AgentState::stopped && !node.settling.is_alone;
}

// True when the agents below `node` may be resumed, too.
bool SettleWalk::resume(const SettleJob& job, Node& node) {
  if (&node != job.root) {
    // Stopped by a verb of its own, possibly without its children (invariant 5).
    if (!node.settling.stopped_by_ancestor) return !node.load().closes_subtree() && !decides_below(node);
    if (!reopen(node)) return false;
  }
  node.settling.stopped_by_ancestor = false;
  if (persist::Recorder* const recorder = tree_.recorder())
    node.is_root_sentinel() ? recorder->note_tree() : recorder->note_change(node.id());
  // Its next turn may have begun already, and have reported the state itself.
  const bool is_idle = node.load().state() == AgentState::idle;
  if (!node.is_root_sentinel() && is_idle) hub_.emit_state(node, AgentState::idle);
  return true;
}

}  // namespace agentcore::detail::tree
