#include "tree/verbs.hpp"

#include "core/gates.hpp"
#include "core/transitions.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/refusals.hpp"
#include "tree/stops_below.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace agentcore::detail::tree {
namespace {

using core::Gate;
using core::GateView;
using core::Grade;
using core::Node;
using core::PackedState;

Grade grade_of(StopWhen when) noexcept {
  return when == StopWhen::after_step ? Grade::after_step : Grade::after_turn;
}

// True if the verb only adds a deferred stop or delete: the gate stays open.
bool is_deferred(const ControlOp& op, const GateView& view) noexcept {
  return op.when != StopWhen::now && view.open();
}

}  // namespace

VerbResult Verbs::stop_for_host(core::NodeId id, StopOptions&& options) {
  const StopCause given = options.cause;
  if (given != StopCause::deadline && given != StopCause::shutdown) options.cause = StopCause::user;
  return stop(id, std::move(options), given);
}

VerbResult Verbs::stop(core::NodeId id, StopOptions&& options, std::optional<StopCause> given) {
  if (options.descendants_only) return stop_below(id, std::move(options), given);
  const Agent keep = tree_.handle(id);  // a cut may run callbacks, and they may drop all other handles
  Node* node = tree_.reach(id);
  if (!node) return VerbResult::refused(tree_.missing());
  auto op =
      closing_op_for(tree_, id, options.on_settled != nullptr, options.caller, options.reason, options.when);
  if (!op) return VerbResult::refused(Errc::out_of_memory);
  op->cascade = options.cascade;
  op->cause = options.cause;
  op->given_cause = given.value_or(options.cause);
  op->grace = options.grace;
  op->on_stopped = std::move(options.on_settled);
  op->escalate_at = escalation_of(options.escalate_after);
  const bool wants_report = op->wants_report();

  Closed closed = locked_stop(*node, op, options.caller);
  VerbResult& result = closed.result;
  if (result.accepted()) result.quiet = tree_.is_quiet(*node, true);
  if (result.took_effect()) result.calls_cut = cut(*node, options.cut);
  if (result.took_effect() || closed.wakes || wants_report) tree_.waker->notify();
  return result;
}

Verbs::Closed Verbs::locked_stop(Node& node, std::unique_ptr<ControlOp>& op, std::string_view caller) {
  const core::Lock lock(tree_.closing);
  return close_for_stop(node, op, caller);
}

Verbs::Closed Verbs::close_for_stop(Node& node, std::unique_ptr<ControlOp>& op, std::string_view caller) {
  for (;;) {
    const GateView view = look(node, op->agent);
    if (!view.valid) return VerbResult::refused(Errc::agent_not_found);
    if (node.role.load(std::memory_order_relaxed) == AgentRole::user)
      return VerbResult::refused(Errc::cannot_stop_user);
    if (!caller.empty() && !is_parent(caller, node)) return VerbResult::refused(Errc::not_child_agent);
    PackedState expected = view.own;
    if (is_deferred(*op, view)) {
      if (const auto deferred = defer(node, expected, op)) return *deferred;
      continue;
    }
    // A stop of the agent alone makes a stop of its subtree that is pending take effect with it.
    if (view.own.stop_grade() != Grade::none && node.grade_of_descendants() != Grade::none)
      op->cascade = true;
    const std::optional<PackedState> after = core::after_stop(view.own, op->cascade);
    if (!after || view.above != Gate::open) {
      const bool wakes = op->cause != StopCause::lease && keep_stopped(node, op->agent);
      wait_for_other(op);
      return {VerbResult::no_effect(verb_reason_of(view.effective)), wakes};
    }
    if (!node.replace(expected, *after)) continue;
    op->when = StopWhen::now;
    return queue(op);
  }
}

// A stop was called on an agent that is closed already, perhaps by a stop of an ancestor, of which a resume
// is under way. So that the resume does not open the agent after this call, only a resume of its own does.
// True: the loop is to be woken, for the store.
bool Verbs::keep_stopped(Node& node, core::NodeId id) noexcept {
  const core::InnerLock lock(tree_.table.erasing());
  if (node.load().generation() != core::generation_of(id)) return false;
  node.extend_below(Node::stays_stopped, true);
  tree_.mail_notes.add_at_once(id);  // no event says it
  return tree_.mail_notes.is_enabled();
}

// Adds a deferred stop or delete to what is pending: the strictest grade counts, for the agent and for its
// descendants, and a delete overtakes stops.
Verbs::Request Verbs::request(Node& node, PackedState expected, const ControlOp& op) noexcept {
  const Grade grade = grade_of(op.when), own = expected.stop_grade();
  const bool is_pending = own != Grade::none;
  const Grade below = is_pending ? node.grade_of_descendants() : Grade::none;
  const bool deletes = is_pending && node.extends_below(Node::grade_deletes);
  const bool forks = is_pending && node.extends_below(Node::deletes_forks);
  const bool forks_after = forks || op.forks.has_value();
  const Grade below_after = op.cascade ? std::max(below, grade) : below;
  const bool deletes_after = deletes || op.verb == Verb::terminate;
  if (grade <= own && below_after == below && deletes_after == deletes && forks_after == forks &&
      !op.escalate_at)
    return Request::nothing_new;
  node.extend_grade(below_after, deletes_after, forks_after);  // before the grade is visible
  if (grade <= own) return Request::added;
  const std::optional<PackedState> after = core::after_stop_request(expected, grade);
  return after && node.replace(expected, *after) ? Request::added : Request::outdated;
}

// Nothing: the packed state has changed, and the caller looks once more.
std::optional<VerbResult> Verbs::defer(Node& node, PackedState expected, std::unique_ptr<ControlOp>& op) {
  const Request requested = request(node, expected, *op);
  if (requested == Request::outdated) return std::nullopt;
  op->was_pending = requested == Request::added;
  if (op->was_pending) return queue(op);
  wait_for_other(op);
  return VerbResult::no_effect(Errc::stop_pending);
}

// Cuts on the calling thread what a verb has closed; a deferred one has closed nothing.
std::size_t Verbs::cut(const Node& node, StopCut most) {
  const PackedState packed = node.load();
  return packed.is_open() ? 0 : operations_.cut_closed_below(node, packed.closes_subtree(), most);
}

std::unique_ptr<ControlOp> Verbs::harden(std::unique_ptr<ControlOp> op, std::uint64_t read) {
  Node* const node = tree_.reach(op->agent);
  const bool deletes = op->verb == Verb::terminate;
  VerbResult result;
  {
    const core::Lock lock(tree_.closing);
    if (read != withdrawals_) return op;
    op->when = StopWhen::now;
    if (!node || !op->took_effect)
      wait_for_other(op);
    else if (deletes)
      result = close_for_delete(*node, op, {});
    else
      result = close_for_stop(*node, op, {}).result;
  }
  if (result.took_effect()) static_cast<void>(cut(*node, StopCut::all));
  tree_.waker->notify();
  return nullptr;
}

// Each child is stopped by an operation of its own.
VerbResult Verbs::stop_below(core::NodeId id, StopOptions&& options, std::optional<StopCause> given) {
  const Agent keep = tree_.handle(id);  // as in stop()
  Node* node = tree_.reach(id);
  if (!node) return VerbResult::refused(tree_.missing());
  Closed closed = VerbResult();
  try {
    closed = close_below(*node, id, options, given);
  } catch (const std::bad_alloc&) {
    return VerbResult::refused(Errc::out_of_memory);
  }
  VerbResult& result = closed.result;
  if (result.accepted()) result.quiet = tree_.is_quiet(*node, true, false);
  if (!result.took_effect()) {
    if (closed.wakes) tree_.waker->notify();
    return result;
  }
  if (options.when == StopWhen::now)
    result.calls_cut = operations_.cut_closed_below(*node, true, options.cut);
  tree_.waker->notify();
  return result;
}

Verbs::Closed Verbs::close_below(Node& node, core::NodeId id, StopOptions& options,
                                 std::optional<StopCause> given) {
  // Destroyed after the lock is released: it may hold code of the host.
  StopsBelow stops(tree_, id, options, given.value_or(options.cause), escalation_of(options.escalate_after));
  const core::Lock lock(tree_.closing);
  const GateView above = look(node, id);
  if (!above.valid) return VerbResult::refused(Errc::agent_not_found);
  if (!options.caller.empty() && tree_.table.find(options.caller) != &node &&
      !is_parent(options.caller, node))
    return VerbResult::refused(Errc::not_child_agent);
  if (!above.open()) return VerbResult::no_effect(verb_reason_of(above.effective));
  // All allocations come first.
  stops.add_children(node);
  bool any_pending = false, wakes = false;
  for (ControlOp& op : stops) {
    Node& child = tree_.table.slot(core::index_of(op.agent));
    ChildStop closed;
    do {
      closed = close_child(child, op);
    } while (closed == ChildStop::outdated);
    wakes = wakes || closed == ChildStop::done_and_wakes;
    any_pending = any_pending || child.load().stop_grade() != Grade::none;
  }
  if (stops.push_all()) return VerbResult::done();
  return {VerbResult::no_effect(any_pending ? Errc::stop_pending : Errc::stopped), wakes};
}

// `outdated`: the packed state has changed meanwhile.
Verbs::ChildStop Verbs::close_child(Node& child, ControlOp& op) noexcept {
  const GateView view = look(child, op.agent);
  op.took_effect = view.valid && child.role.load(std::memory_order_relaxed) != AgentRole::user;
  if (!op.took_effect) return ChildStop::done;
  PackedState expected = view.own;
  if (is_deferred(op, view)) {
    const Request requested = request(child, expected, op);
    op.took_effect = requested == Request::added;
    if (op.took_effect) note_effect(tree_, op);
    return requested == Request::outdated ? ChildStop::outdated : ChildStop::done;
  }
  const std::optional<PackedState> after = core::after_stop(expected, true);
  op.took_effect = after.has_value();
  if (!after) return keep_stopped(child, op.agent) ? ChildStop::done_and_wakes : ChildStop::done;
  op.when = StopWhen::now;
  if (!child.replace(expected, *after)) return ChildStop::outdated;
  note_effect(tree_, op);
  return ChildStop::done;
}

VerbResult Verbs::resume(core::NodeId id, const ResumeOptions& options, ResumedBy by) {
  Node* node = tree_.reach(id);
  if (!node) return VerbResult::refused(tree_.missing());
  auto op = op_for(tree_, id, false);
  if (!op) return VerbResult::refused(Errc::out_of_memory);
  op->verb = Verb::resume;
  op->cascade = options.cascade;
  const VerbResult result = open_for_resume(*node, std::move(op), by);
  if (result.took_effect()) tree_.waker->notify();
  return result;
}

VerbResult Verbs::open_for_resume(Node& node, std::unique_ptr<ControlOp> op, ResumedBy by) {
  const core::Lock lock(tree_.closing);
  for (;;) {
    const GateView view = look(node, op->agent);
    if (!view.valid) return VerbResult::refused(Errc::agent_not_found);
    if (view.effective == AgentState::terminating || view.own.gate() == Gate::terminate ||
        view.above == Gate::terminate)
      return VerbResult::refused(Errc::terminating);
    if (view.effective == AgentState::stopping) return VerbResult::refused(Errc::stopping);
    if (view.above != Gate::open) return VerbResult::refused(Errc::parent_stopped);
    if (const auto withdrawn = view.open() ? core::after_withdraw(view.own) : std::nullopt) {
      PackedState expected = view.own;
      if (!node.replace(expected, *withdrawn)) continue;
      node.extend_below(Node::grade_deletes | Node::deletes_forks, false);
      op->withdraws = true;
      op->withdrawals = ++withdrawals_;
      tree_.control.push(std::move(op));
      return VerbResult::done();
    }
    if (view.effective != AgentState::stopped) return VerbResult::no_effect(Errc::not_stopped);
    if (by == ResumedBy::message && view.grade != core::Grade::none)
      return VerbResult::refused(Errc::stopping);
    const std::optional<PackedState> after =
        core::after_resume(view.own, mailbox::is_settled(node, view.own));
    if (!after) return VerbResult::refused(Errc::stopping);  // widened, and not settled again yet
    PackedState expected = view.own;
    if (const auto lease = view.own.has_lease() ? tree_.table.leases().find(op->agent) : nullptr) {
      if (by != ResumedBy::host && lease->is_over()) return VerbResult::refused(Errc::lease_expired);
      lease->reopen();
    }
    if (!node.replace(expected, *after)) continue;
    node.extend_below(Node::stays_stopped | Node::unusable, false);
    mailbox::open(node, view.own.generation(), view.own.epoch());
    op->cascade = op->cascade && view.own.gate() == Gate::stop_tree;
    tree_.control.push(std::move(op));
    return VerbResult::done();
  }
}

VerbResult Verbs::renew(core::NodeId id) {
  const Node* const node = tree_.reach(id);
  if (!node) return VerbResult::refused(tree_.missing());
  const auto lease = tree_.table.leases().find(id);
  if (!lease) return VerbResult::refused(Errc::no_lease);
  if (lease->renew()) return VerbResult::done();
  tree_.table.leases().check(*node);
  return VerbResult::refused(Errc::lease_expired);
}

// The loop cuts the calls when it reads the operation: this may run within any function.
bool Verbs::stop_for(core::Lease& lease) noexcept {
  Node* const node = tree_.reach(lease.agent());
  auto op = closing_op_for(tree_, lease.agent(), false, {}, "the lease of the agent was not renewed in time",
                           StopWhen::now);
  if (!op) {
    tree_.table.leases().request_check();  // the next poll tries again
    tree_.waker->notify();
    return false;
  }
  op->cause = op->given_cause = StopCause::lease;
  {
    const core::Lock lock(tree_.closing);
    if (lease.is_to_end()) {
      if (node) static_cast<void>(close_for_stop(*node, op, {}));
      lease.set_ended();
    }
  }
  tree_.waker->notify();
  return true;
}

VerbResult Verbs::terminate(core::NodeId id, TerminateOptions&& options) {
  const Agent keep = tree_.handle(id);  // as in stop()
  Node* node = tree_.reach(id);
  if (!node) return VerbResult::refused(tree_.missing());
  auto op =
      closing_op_for(tree_, id, options.on_settled != nullptr, options.caller, options.reason, options.when);
  if (!op) return VerbResult::refused(Errc::out_of_memory);
  op->verb = Verb::terminate;
  op->cause = op->given_cause = StopCause::terminate;
  if (options.forks == Forks::terminate) op->forks = options.when;
  op->grace = options.grace;
  op->on_terminated = std::move(options.on_settled);
  op->escalate_at = escalation_of(options.escalate_after);
  const bool wants_report = op->wants_report();

  VerbResult result;
  {
    const core::Lock lock(tree_.closing);
    result = close_for_delete(*node, op, options.caller);
  }
  if (result.accepted()) result.quiet = tree_.is_quiet(*node, true);
  if (result.took_effect()) result.calls_cut = cut(*node, options.cut);
  if (result.took_effect() || wants_report) tree_.waker->notify();
  return result;
}

VerbResult Verbs::close_for_delete(Node& node, std::unique_ptr<ControlOp>& op, std::string_view caller) {
  for (;;) {
    const GateView view = look(node, op->agent);
    if (!view.valid) return VerbResult::refused(Errc::agent_not_found);
    if (node.role.load(std::memory_order_relaxed) != AgentRole::normal)
      return VerbResult::refused(Errc::cannot_delete_system_agent);
    if (!caller.empty() && !is_parent(caller, node)) return VerbResult::refused(Errc::not_child_agent);
    PackedState expected = view.own;
    if (is_deferred(*op, view)) {
      if (const auto deferred = defer(node, expected, op)) return *deferred;
      continue;
    }
    const std::optional<PackedState> after =
        core::after_terminate(view.own, view.above != Gate::open, mailbox::is_settled(node, view.own));
    if (!after || view.above == Gate::terminate) {
      wait_for_other(op);
      return VerbResult::no_effect(Errc::terminating);
    }
    // For the store, and before the gate is closed: the loop may not read the operation before a commit.
    if (op->forks) node.extend_below(Node::deletes_forks, true);
    if (!node.replace(expected, *after)) continue;
    op->when = StopWhen::now;
    return queue(op);
  }
}

void Verbs::close_tree() noexcept {
  const core::Lock lock(tree_.closing);
  Node& root = tree_.table.root_sentinel();
  PackedState packed = root.load();
  std::optional<PackedState> after;
  do {
    after = core::after_terminate(packed, false, true);
  } while (after && !root.replace(packed, *after));
}

VerbResult Verbs::queue(std::unique_ptr<ControlOp>& op) noexcept {
  note_effect(tree_, *op);
  tree_.control.push(std::move(op));
  return VerbResult::done();
}

// Another verb has closed the gate already: a caller that requested a report waits for the end of that verb.
// Only a verb that was pending has a record nevertheless, and deletes the forks.
void Verbs::wait_for_other(std::unique_ptr<ControlOp>& op) {
  op->took_effect = false;
  if (op->audit && !op->audit->was_deferred) op->audit = nullptr;
  if (!op->was_pending) op->forks.reset();
  if (op->collects() || op->forks) tree_.control.push(std::move(op));
}

// Agents may act only on their own children (X10).
bool Verbs::is_parent(std::string_view caller, const Node& node) const noexcept {
  const Node* const found = tree_.table.find(caller);
  return found && node.parent.load(std::memory_order_acquire) == found;
}

}  // namespace agentcore::detail::tree
