#include "tree/stop.hpp"

#include "core/gates.hpp"
#include "core/transitions.hpp"
#include "loop/time.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/refusals.hpp"
#include "tree/settle_reports.hpp"

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

// What a stop or a delete has done under the mutex.
struct Closed {
  Closed(VerbResult done, bool has_second_half = false,  // NOLINT(google-explicit-constructor)
         bool must_wake = false) noexcept
      : result(done), goes_on(has_second_half), wakes(must_wake) {}
  VerbResult result;
  bool goes_on;  // the loop has something to do: the operation is to be queued
  bool wakes;    // the loop is to be woken after the mutex is released, also if nothing is queued
};

// What became of a deferred stop or delete.
enum class Request : std::uint8_t {
  added,        // it is pending
  nothing_new,  // what is pending includes it
  outdated,     // the packed state has changed: look once more
};

enum class ChildStop : std::uint8_t { done, done_and_wakes, outdated };

// The time at which a deferred verb takes effect at the latest.
std::optional<TimePoint> escalation_of(const TreeShared& tree,
                                       const std::optional<Duration>& after) noexcept {
  return after ? std::optional(loop::later(tree.engine->clock().now(), *after)) : std::nullopt;
}

// Agents may act only on their own children (X10).
bool is_parent(const TreeShared& tree, std::string_view caller, const Node& node) noexcept {
  const Node* const found = tree.table.find(caller);
  return found && node.parent.load(std::memory_order_acquire) == found;
}

// Cuts on the calling thread what a verb has closed; a deferred one has closed nothing.
std::size_t cut(TreeShared& tree, const Node& node, StopCut most) {
  const PackedState packed = node.load();
  return packed.is_open() ? 0 : tree.operations.cut_closed_below(node, packed.closes_subtree(), most);
}

Closed take_effect(const TreeShared& tree, ControlOp& op) noexcept {
  note_effect(tree, op);
  return {VerbResult::done(), true};
}

// Another verb has closed the gate already: a caller that requested a report waits for the end of that verb.
// Only a verb that was pending has a record nevertheless, and deletes the forks.
Closed wait_for_other(ControlOp& op, Errc reason, bool wakes = false) noexcept {
  op.took_effect = false;
  if (op.audit && !op.audit->was_deferred) op.audit = nullptr;
  if (!op.was_pending) op.forks.reset();
  return {VerbResult::no_effect(reason), op.collects() || op.forks, wakes};
}

// A stop was called on an agent that is closed already, perhaps by a stop of an ancestor, of which a resume
// is under way. So that the resume does not open the agent after this call, only a resume of its own does.
// True: the loop is to be woken, for the store.
bool keep_stopped(TreeShared& tree, Node& node, core::NodeId id) noexcept AGENTCORE_REQUIRES(tree.closing) {
  const core::InnerLock lock(tree.table.erasing());
  if (node.load().generation() != core::generation_of(id)) return false;
  node.extend_below(Node::stays_stopped, true);
  tree.mail_notes.add_at_once(id);  // no event says it
  return tree.mail_notes.is_enabled();
}

// Adds a deferred stop or delete to what is pending: the strictest grade counts, for the agent and for its
// descendants, and a delete overtakes stops.
Request request([[maybe_unused]] TreeShared& tree, Node& node, PackedState expected,
                const ControlOp& op) noexcept AGENTCORE_REQUIRES(tree.closing) {
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
std::optional<Closed> defer(TreeShared& tree, Node& node, PackedState expected, ControlOp& op) noexcept
    AGENTCORE_REQUIRES(tree.closing) {
  const Request requested = request(tree, node, expected, op);
  if (requested == Request::outdated) return std::nullopt;
  op.was_pending = requested == Request::added;
  return op.was_pending ? take_effect(tree, op) : wait_for_other(op, Errc::stop_pending);
}

Closed close_for_stop(TreeShared& tree, Node& node, ControlOp& op, std::string_view caller)
    AGENTCORE_REQUIRES(tree.closing) {
  for (;;) {
    const GateView view = look(node, op.agent);
    if (!view.valid) return VerbResult::refused(Errc::agent_not_found);
    if (node.role.load(std::memory_order_relaxed) == AgentRole::user)
      return VerbResult::refused(Errc::cannot_stop_user);
    if (!caller.empty() && !is_parent(tree, caller, node)) return VerbResult::refused(Errc::not_child_agent);
    PackedState expected = view.own;
    if (is_deferred(op, view)) {
      if (const auto deferred = defer(tree, node, expected, op)) return *deferred;
      continue;
    }
    // A stop of the agent alone makes a stop of its subtree that is pending take effect with it.
    if (view.own.stop_grade() != Grade::none && node.grade_of_descendants() != Grade::none) op.cascade = true;
    const std::optional<PackedState> after = core::after_stop(view.own, op.cascade);
    if (!after || view.above != Gate::open) {
      const bool wakes = op.cause != StopCause::lease && keep_stopped(tree, node, op.agent);
      return wait_for_other(op, closed_reason_of(view.effective), wakes);
    }
    if (!node.replace(expected, *after)) continue;
    op.when = StopWhen::now;
    return take_effect(tree, op);
  }
}

Closed close_for_delete(TreeShared& tree, Node& node, ControlOp& op, std::string_view caller)
    AGENTCORE_REQUIRES(tree.closing) {
  for (;;) {
    const GateView view = look(node, op.agent);
    if (!view.valid) return VerbResult::refused(Errc::agent_not_found);
    if (node.role.load(std::memory_order_relaxed) != AgentRole::normal)
      return VerbResult::refused(Errc::cannot_delete_system_agent);
    if (!caller.empty() && !is_parent(tree, caller, node)) return VerbResult::refused(Errc::not_child_agent);
    PackedState expected = view.own;
    if (is_deferred(op, view)) {
      if (const auto deferred = defer(tree, node, expected, op)) return *deferred;
      continue;
    }
    const std::optional<PackedState> after =
        core::after_terminate(view.own, view.above != Gate::open, mailbox::is_settled(node, view.own));
    if (!after || view.above == Gate::terminate) return wait_for_other(op, Errc::agent_terminating);
    // For the store, and before the gate is closed: the loop may not read the operation before a commit.
    if (op.forks) node.extend_below(Node::deletes_forks, true);
    if (!node.replace(expected, *after)) continue;
    op.when = StopWhen::now;
    return take_effect(tree, op);
  }
}

Closed close(TreeShared& tree, Node& node, ControlOp& op, std::string_view caller)
    AGENTCORE_REQUIRES(tree.closing) {
  return op.verb == Verb::terminate ? close_for_delete(tree, node, op, caller)
                                    : close_for_stop(tree, node, op, caller);
}

// What is left of `op` the caller destroys after the mutex is released: that may run code of the host, and so
// may a wake-up.
Closed close_and_queue(TreeShared& tree, Node& node, std::unique_ptr<ControlOp>& op,
                       std::string_view caller) {
  const core::Lock lock(tree.closing);
  const Closed closed = close(tree, node, *op, caller);
  if (closed.goes_on) tree.control.push(std::move(op));
  return closed;
}

// The first half of a stop or a delete.
VerbResult run_first_half(TreeShared& tree, Node& node, std::unique_ptr<ControlOp> op,
                          std::string_view caller, StopCut most) {
  const bool wants_report = op->wants_report();
  const Closed closed = close_and_queue(tree, node, op, caller);
  VerbResult result = closed.result;
  if (result.accepted()) result.quiet = tree.is_quiet(node, true);
  if (result.took_effect()) result.calls_cut = cut(tree, node, most);
  if (result.took_effect() || closed.wakes || wants_report) tree.waker->notify();
  return result;
}

// The operations of one stop of all descendants of an agent: one for each child, made before any gate is
// closed. They have one log record, and one report: the reports of the children are joined on the loop
// thread, and the last of them calls the completion.
class StopsBelow {
 public:
  // For the agent `id`, which goes on. Throws std::bad_alloc.
  StopsBelow(TreeShared& tree, core::NodeId id, StopOptions& options, StopCause given,
             std::optional<TimePoint> escalate_at)
      : tree_(tree),
        id_(id),
        options_(options),
        given_(given),
        escalate_at_(escalate_at),
        origin_(options.caller, options.reason) {
    if (!options.on_settled) return;
    joined_ = std::make_shared<Joined>();
    StopReport& report = joined_->report;
    const Node* const node = tree.resolve(id);
    if (node && !node->is_root_sentinel()) report.agent_id = tree.table.names().name_of(*node, id);
    report.cause = options.cause;
    report.caller = options.caller;
    report.reason = options.reason;
    joined_->on_settled = options.on_settled;
  }

  // The children that the agent has now. The links between agents belong to the loop thread: other threads
  // find the children by their parent. Throws std::bad_alloc.
  void add_children(const Node& node) {
    core::AgentTable& table = tree_.table;
    if (tree_.engine->on_loop_thread()) {
      for (const Node* child = table.first_child(node); child; child = table.next_sibling(*child))
        add(child->id());
      return;
    }
    for (std::uint32_t index = 1; index < table.slots(); ++index) {
      const Node& child = table.slot(index);
      const PackedState packed = child.load();
      // Its parent is read once more by the look at its gates, which compares the generation afterwards.
      if (!packed.is_free() && child.parent.load(std::memory_order_acquire) == &node &&
          child.load().generation() == packed.generation())
        add(core::make_id(index, packed.generation()));
    }
  }

  // The operations, with ControlOp::took_effect to be set.
  const std::vector<std::unique_ptr<ControlOp>>& ops() const noexcept { return ops_; }

  // Queues those that took effect; returns whether there are any.
  bool push_all() noexcept {
    std::erase_if(ops_, [](const auto& op) { return !op->took_effect; });
    if (ops_.empty()) return false;
    if (joined_) joined_->left = ops_.size();  // before the loop can see any of them
    ops_.front()->logs = true;
    for (auto& op : ops_) tree_.control.push(std::move(op));
    ops_.clear();
    return true;
  }

 private:
  // The report of all.
  struct Joined {
    StopReport report;
    std::size_t left = 0;  // children whose reports are to come
    std::function<void(const StopReport&)> on_settled;
  };

  void add(core::NodeId child) {
    auto op = std::make_unique<ControlOp>();
    op->agent = child;
    op->below = id_;
    op->cause = options_.cause;
    op->given_cause = given_;
    op->origin = origin_;
    op->grace = options_.grace;
    op->when = options_.when;
    op->escalate_at = escalate_at_;
    note_call(tree_, *op, options_.when);
    if (op->audit) {
      const Node* const above = tree_.resolve(id_);
      if (above && !above->is_root_sentinel()) op->audit->below = tree_.table.names().name_of(*above, id_);
    }
    if (op->collects() || joined_) {
      const Node* const node = tree_.resolve(child);
      if (node) op->agent_name = tree_.table.names().name_of(*node, child);
    }
    if (joined_) op->on_settled = [joined = joined_](const StopReport& report) { join(*joined, report); };
    ops_.push_back(std::move(op));
  }

  // Without memory, names are missing in the report.
  static void join(Joined& joined, const StopReport& child) {
    StopReport& all = joined.report;
    all.messages_dropped += child.messages_dropped;
    try {
      const auto append = [](auto& to, const auto& from, std::size_t most) {
        to.insert(to.end(), from.begin(),
                  from.begin() + static_cast<std::ptrdiff_t>(std::min(most, from.size())));
      };
      append(all.descendants, child.descendants, child.descendants.size());
      all.descendants.push_back(child.agent_id);
      append(all.abandoned, child.abandoned, child.abandoned.size());
      append(all.dropped_messages, child.dropped_messages,
             SettleReports::most_ids - all.dropped_messages.size());
    } catch (const std::bad_alloc&) {
    }
    if (--joined.left == 0) joined.on_settled(all);
  }

  TreeShared& tree_;
  const core::NodeId id_;
  const StopOptions& options_;
  const StopCause given_;  // ControlOp::given_cause
  const std::optional<TimePoint> escalate_at_;
  StopOrigin origin_;
  std::shared_ptr<Joined> joined_;  // null: no report was requested
  std::vector<std::unique_ptr<ControlOp>> ops_;
};

// `outdated`: the packed state has changed meanwhile.
ChildStop close_child(TreeShared& tree, Node& child, ControlOp& op) noexcept
    AGENTCORE_REQUIRES(tree.closing) {
  const GateView view = look(child, op.agent);
  op.took_effect = view.valid && child.role.load(std::memory_order_relaxed) != AgentRole::user;
  if (!op.took_effect) return ChildStop::done;
  PackedState expected = view.own;
  if (is_deferred(op, view)) {
    const Request requested = request(tree, child, expected, op);
    op.took_effect = requested == Request::added;
    if (op.took_effect) note_effect(tree, op);
    return requested == Request::outdated ? ChildStop::outdated : ChildStop::done;
  }
  const std::optional<PackedState> after = core::after_stop(expected, true);
  op.took_effect = after.has_value();
  if (!after) return keep_stopped(tree, child, op.agent) ? ChildStop::done_and_wakes : ChildStop::done;
  op.when = StopWhen::now;
  if (!child.replace(expected, *after)) return ChildStop::outdated;
  note_effect(tree, op);
  return ChildStop::done;
}

Closed close_below(TreeShared& tree, Node& node, core::NodeId id, StopOptions& options,
                   std::optional<StopCause> given) {
  // Destroyed after the lock is released: it may hold code of the host.
  StopsBelow stops(tree, id, options, given.value_or(options.cause),
                   escalation_of(tree, options.escalate_after));
  const core::Lock lock(tree.closing);
  const GateView above = look(node, id);
  if (!above.valid) return VerbResult::refused(Errc::agent_not_found);
  if (!options.caller.empty() && tree.table.find(options.caller) != &node &&
      !is_parent(tree, options.caller, node))
    return VerbResult::refused(Errc::not_child_agent);
  if (!above.open()) return VerbResult::no_effect(closed_reason_of(above.effective));
  // All allocations come first.
  stops.add_children(node);
  bool any_pending = false, wakes = false;
  for (const auto& op : stops.ops()) {
    Node& child = tree.table.slot(core::index_of(op->agent));
    ChildStop closed;
    do {
      closed = close_child(tree, child, *op);
    } while (closed == ChildStop::outdated);
    wakes = wakes || closed == ChildStop::done_and_wakes;
    any_pending = any_pending || child.load().stop_grade() != Grade::none;
  }
  if (stops.push_all()) return VerbResult::done();
  return {VerbResult::no_effect(any_pending ? Errc::stop_pending : Errc::agent_stopped), false, wakes};
}

// Each child is stopped by an operation of its own.
VerbResult stop_below(TreeShared& tree, core::NodeId id, StopOptions&& options,
                      std::optional<StopCause> given) {
  const Agent keep = tree.handle(id);  // as in stop()
  Node* node = tree.reach(id);
  if (!node) return VerbResult::refused(tree.missing());
  Closed closed = VerbResult();
  try {
    closed = close_below(tree, *node, id, options, given);
  } catch (const std::bad_alloc&) {
    return VerbResult::refused(Errc::out_of_memory);
  }
  VerbResult& result = closed.result;
  if (result.accepted()) result.quiet = tree.is_quiet(*node, true, false);
  if (!result.took_effect()) {
    if (closed.wakes) tree.waker->notify();
    return result;
  }
  if (options.when == StopWhen::now)
    result.calls_cut = tree.operations.cut_closed_below(*node, true, options.cut);
  tree.waker->notify();
  return result;
}

}  // namespace

VerbResult stop_for_host(TreeShared& tree, core::NodeId id, StopOptions&& options) {
  const StopCause given = options.cause;
  if (given != StopCause::deadline && given != StopCause::shutdown) options.cause = StopCause::user;
  return stop(tree, id, std::move(options), given);
}

VerbResult stop(TreeShared& tree, core::NodeId id, StopOptions&& options, std::optional<StopCause> given) {
  if (options.scope == Scope::descendants) return stop_below(tree, id, std::move(options), given);
  if (options.scope == Scope::with_forks) return VerbResult::refused(Errc::invalid_config);
  const Agent keep = tree.handle(id);  // a cut may run callbacks, and they may drop all other handles
  Node* node = tree.reach(id);
  if (!node) return VerbResult::refused(tree.missing());
  if (node->is_root_sentinel() && options.scope == Scope::agent)
    return VerbResult::refused(Errc::invalid_config);
  auto op =
      closing_op_for(tree, id, options.on_settled != nullptr, options.caller, options.reason, options.when);
  if (!op) return VerbResult::refused(Errc::out_of_memory);
  op->cascade = options.scope == Scope::subtree;
  op->cause = options.cause;
  op->given_cause = given.value_or(options.cause);
  op->grace = options.grace;
  op->on_settled = std::move(options.on_settled);
  op->escalate_at = escalation_of(tree, options.escalate_after);
  return run_first_half(tree, *node, std::move(op), options.caller, options.cut);
}

VerbResult terminate(TreeShared& tree, core::NodeId id, TerminateOptions&& options) {
  const bool with_forks = options.scope == Scope::with_forks;
  if (options.scope != Scope::subtree && !with_forks) return VerbResult::refused(Errc::invalid_config);
  const Agent keep = tree.handle(id);  // as in stop()
  Node* node = tree.reach(id);
  if (!node) return VerbResult::refused(tree.missing());
  auto op =
      closing_op_for(tree, id, options.on_settled != nullptr, options.caller, options.reason, options.when);
  if (!op) return VerbResult::refused(Errc::out_of_memory);
  op->verb = Verb::terminate;
  op->cause = op->given_cause = StopCause::terminate;
  if (with_forks) op->forks = options.when;
  op->grace = options.grace;
  op->on_settled = std::move(options.on_settled);
  op->escalate_at = escalation_of(tree, options.escalate_after);
  return run_first_half(tree, *node, std::move(op), options.caller, options.cut);
}

bool harden(TreeShared& tree, Node& node, ControlOp& op, std::optional<std::uint64_t> read) {
  Closed closed = VerbResult();
  {
    const core::Lock lock(tree.closing);
    // The walks of verbs follow one another as their gates were closed: those before this one are read first.
    if (read && (*read != tree.withdrawals || !tree.control.empty())) return false;
    op.when = StopWhen::now;
    closed = op.took_effect ? close(tree, node, op, {}) : wait_for_other(op, Errc::stop_pending);
  }
  if (closed.result.took_effect()) static_cast<void>(cut(tree, node, StopCut::all));
  if (closed.wakes) tree.waker->notify();
  return true;
}

// The loop cuts the calls when it reads the operation: this may run within any function.
bool stop_for_lease(TreeShared& tree, core::Lease& lease) noexcept {
  Node* const node = tree.reach(lease.agent());
  auto op = closing_op_for(tree, lease.agent(), false, {}, "the lease of the agent was not renewed in time",
                           StopWhen::now);
  if (!op) {
    tree.table.leases().request_check();  // the next poll tries again
    tree.waker->notify();
    return false;
  }
  op->cause = op->given_cause = StopCause::lease;
  {
    const core::Lock lock(tree.closing);
    if (lease.is_to_end()) {
      if (node && close_for_stop(tree, *node, *op, {}).goes_on) tree.control.push(std::move(op));
      lease.set_ended();
    }
  }
  tree.waker->notify();
  return true;
}

void close_tree(TreeShared& tree) noexcept {
  const core::Lock lock(tree.closing);
  Node& root = tree.table.root_sentinel();
  PackedState packed = root.load();
  std::optional<PackedState> after;
  do {
    after = core::after_terminate(packed, false, true);
  } while (after && !root.replace(packed, *after));
}

}  // namespace agentcore::detail::tree
