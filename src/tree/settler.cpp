#include "tree/settler.hpp"

#include "core/gates.hpp"
#include "loop/time.hpp"
#include "tree/pauses.hpp"
#include "tree/stop.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;

namespace {

// A subtree is small when it has at most this many agents.
constexpr std::size_t few_agents = 64;

// True when the grace period of a stop or delete of the agent, or of an ancestor with it, is over.
bool is_overdue(const Node& node) noexcept {
  if (node.settling.is_overdue_alone) return true;
  const Node* up = &node;
  while (up && !up->settling.is_overdue) up = up->parent.load(std::memory_order_relaxed);
  return up;
}

bool is_open(const Node& node, core::NodeId id) noexcept {
  return core::look(node, core::generation_of(id)).open();
}

}  // namespace

Settler::Settler(TreeShared& tree, events::EventHub& hub, turn::Turns& turns)
    : tree_(tree),
      table_(tree.table),
      hub_(hub),
      turns_(turns),
      operations_(tree.operations),
      engine_(*tree.engine),
      grace_(tree.options.stop_grace),
      jobs_(tree.table),
      rest_(tree.table, turns, jobs_),
      reports_(tree.table, jobs_, hub, *tree.engine, tree.options.audit.get(), tree.cuts.get()),
      agents_(tree, hub, turns, jobs_, rest_, reports_),
      walk_(tree, hub, jobs_, agents_, *this) {
}

void Settler::start(std::unique_ptr<ControlOp>& op) {
  SettleJobs::Draft draft = jobs_.draft(op->agent);  // makes all allocations
  SettleJob& job = draft.job();
  if (op->audit) job.record = std::make_unique<StopRecord>();
  Node* const node = table_.find(op->agent);
  if (op->when != StopWhen::now) {
    if (node && (op->took_effect || jobs_.has_pending_stop(op->agent)))
      return start_pending(draft, op, *node);
    op->took_effect = false;  // what it would have waited for is over
  } else if (op->forks) {
    delete_forks(*op);
    if (hub_.closed()) return;
  }
  job.op = std::move(op);
  if (!job.op->took_effect && !job.op->collects()) return;
  if (begin(job)) jobs_.add(draft, *node);
}

// False: the job is over, and its completion was called, or the tree is destroyed.
bool Settler::begin(SettleJob& job) {
  const ControlOp& op = *job.op;
  Node* const node = table_.find(op.agent);
  if (op.closes()) log_verb(op);
  if (hub_.closed()) return false;
  if (node && op.closes()) begin_close(*node, op);
  if (hub_.closed()) return false;
  if (node && !is_over(*node, op)) return true;
  reports_.call(job);  // also if the agent was settled and removed before its operation was read
  return false;
}

// If another verb has closed the gate since the call, the walk of that verb hardens it.
void Settler::start_pending(SettleJobs::Draft& draft, std::unique_ptr<ControlOp>& op, Node& node) {
  SettleJob& job = draft.job();
  const bool watches = op->took_effect;
  if (watches && op->escalate_at) start_timer(job, *op->escalate_at);
  job.op = std::move(op);
  jobs_.add_pending(draft, node);
  if (!watches) return;
  rest_.begin(job);
  if (!is_open(node, node.id())) return;
  const core::Grade grade = node.load().stop_grade();  // none: it has been withdrawn already
  job.reported = grade == core::Grade::after_step   ? StopWhen::after_step
                 : grade == core::Grade::after_turn ? StopWhen::after_turn
                                                    : job.op->when;
  report_pending(job, false);
}

void Settler::report_pending(const SettleJob& job, bool withdrawn) {
  const Node& node = *job.root;
  const StopOrigin& origin = job.op->origin;
  const bool all = node.is_root_sentinel();
  engine_.guarded("a log record", [&] {
    engine_.log(LogLevel::info, withdrawn ? "a deferred stop was withdrawn" : "a deferred stop is pending",
                {{"agent", all ? std::string() : table_.names().name_of(node, node.id())},
                 {"when", to_string(*job.reported)},
                 {"caller", origin.caller()},
                 {"reason", origin.reason()}});
  });
  if (hub_.closed() || all) return;
  hub_.emit(node, [&](Agent agent) {
    return StopPending{std::move(agent), *job.reported, withdrawn, origin};
  });
}

void Settler::withdraw(const ControlOp& op) {
  withdrawn_ = op.withdrawals;
  // Destroyed at the end: its functions are the host's.
  const std::unique_ptr<SettleJob> taken = jobs_.take_pending(op.agent, false);
  const SettleJob* last = nullptr;
  for (const SettleJob* job = taken.get(); job; job = job->next.get())
    if (job->reported) last = job;
  if (last && table_.find(op.agent)) report_pending(*last, true);
}

void Settler::change_pause(std::unique_ptr<ControlOp>& op) {
  const core::NodeId agent = op->agent;
  const bool pauses = op->verb == Verb::pause;
  const StopOrigin origin = op->origin;
  std::unique_ptr<SettleJob> former;  // destroyed at the end: a callback may hold anything
  if (!pauses) {
    former = jobs_.take_pending(agent, true);
  } else if (Node* const node = table_.find(agent)) {
    SettleJobs::Draft draft = jobs_.draft(agent);
    SettleJob& job = draft.job();
    job.op = std::move(op);
    jobs_.add_pending(draft, *node);
    rest_.begin(job);
  }
  turns_.parked().note_pause();
  if (!hub_.closed()) report_pause(tree_, agent, pauses, origin);
}

void Settler::run_pending(loop::PollBudget& budget) {
  while (SettleJob* const job = rest_.next(budget)) {
    if (job->is_pause())
      settle_pause(*job);
    else if (!harden(job->op->agent, withdrawn_))
      return;  // until the operations are read
    if (hub_.closed()) return;
  }
}

// Nothing runs below the paused agent any more.
void Settler::settle_pause(SettleJob& job) {
  const Node& node = *job.root;
  const std::function<void()> on_rest = std::move(job.op->on_rest);
  jobs_.remove(job);
  if (!node.load().is_paused()) return;  // an unpause whose operation is still queued
  report_pause_settled(hub_, node);
  if (!hub_.closed() && on_rest) engine_.guarded("PauseOptions::on_rest", on_rest);
}

bool Settler::harden(core::NodeId agent, std::optional<std::uint64_t> read) {
  jobs_.begin_hardening(agent);
  bool is_first = true;
  while (SettleJob* const job = jobs_.first(SettleJob::Phase::hardening)) {
    ControlOp& op = *job->op;
    const bool is_own_stop = is_first && op.verb == Verb::stop && op.took_effect;
    if (!tree::harden(tree_, *job->root, op, is_first ? read : std::nullopt)) {
      while (SettleJob* const left = jobs_.first(SettleJob::Phase::hardening)) rest_.expire(*left);
      return false;
    }
    if (hub_.closed()) return true;
    if (is_own_stop) keep_own_stop(*job->root, op.cause);
    go_on_hardened(*job);
    if (hub_.closed()) return true;
    is_first = false;
  }
  return true;
}

// From here on it is an ordinary stop or delete.
void Settler::go_on_hardened(SettleJob& job) {
  job.timer.reset();
  try {
    if (job.op->forks) delete_forks(*job.op);
  } catch (const std::bad_alloc&) {  // where operations are read, it is tried until there is memory
    tree_.control.push(std::move(job.op));
    return jobs_.remove(job);
  }
  if (hub_.closed()) return;
  const bool goes_on = (job.op->took_effect || job.op->collects()) && begin(job);
  if (hub_.closed()) return;
  goes_on ? jobs_.harden(job) : jobs_.remove(job);
}

// The only record of the verb.
void Settler::log_verb(const ControlOp& op) noexcept {
  if (op.below && !op.logs) return;
  engine_.guarded("a log record", [&] {
    const core::NodeId agent = op.below ? op.below : op.agent;
    const Node* const node = table_.find(agent);
    const bool all = node && node->is_root_sentinel();
    std::string name = op.below ? std::string() : op.agent_name;  // if it is gone
    if (node && !all) name = table_.names().name_of(*node, agent);
    const std::string_view message = all                     ? "all agents are being stopped"
                                     : op.below              ? "the descendants of an agent are being stopped"
                                     : op.verb == Verb::stop ? "an agent is being stopped"
                                                             : "an agent is being deleted";
    const LogField agent_field{"agent", name}, caller{"caller", op.origin.caller()},
        reason{"reason", op.origin.reason()}, cause{"cause", to_string(op.cause)};
    if (op.given_cause == op.cause)
      engine_.log(LogLevel::info, message, {agent_field, caller, reason, cause});
    else  // a host may not give that cause
      engine_.log(LogLevel::info, message,
                  {agent_field, caller, reason, cause, {"given_cause", to_string(op.given_cause)}});
  });
}

// Ends the turns and cuts the calls below the closed gate.
void Settler::begin_close(Node& node, const ControlOp& op) {
  core::Settling& settling = node.settling;
  settling.cause = op.cause;
  settling.stopped_by_ancestor = op.cause == StopCause::parent;
  settling.has_own_verb = true;
  if (op.verb == Verb::terminate) settling.is_deleting = true;
  if (op.verb == Verb::stop && op.cascade) settling.is_widened = true;
  if (node.first_child == core::no_node || !op.cascade)
    turns_.stop(node);
  else if (!cut_small_subtree(node))
    cut_pass_.restart();
}

void Settler::keep_own_stop(Node& node, StopCause cause) noexcept {
  if (!node.load().is_open() || node.settling.is_visited() || is_open(node, node.id())) return;
  node.settling.cause = cause;
  node.settling.has_own_verb = true;
  node.settling.stopped_by_ancestor = false;
}

// A delete takes effect: its forks are those that there are now. The next commit has all of them: they are
// noted here, although their operations are still to be read. Throws std::bad_alloc; to be called again then.
void Settler::delete_forks(ControlOp& op) {
  Node* const node = table_.find(op.agent);
  if (!node) return;
  TerminateOptions options;
  options.reason = op.origin.reason();
  options.when = *op.forks;
  options.grace = op.grace;
  if (op.escalate_at) options.escalate_after = *op.escalate_at - engine_.now();
  for (const core::NodeId fork : tree_.forks.of(table_, *node)) {
    const VerbResult result = terminate(tree_, fork, TerminateOptions(options));
    if (hub_.closed()) return;  // by a callback of a call that was cut
    if (result.reason == Errc::out_of_memory) throw std::bad_alloc();
    if (persist::Recorder* const recorder = tree_.recorder()) recorder->note_change(fork);
  }
  if (table_.find(op.agent)) node->extend_below(Node::deletes_forks, false);
  op.forks.reset();
}

// True for a stop that only waits for an earlier one, when that one has settled before this operation was
// read (the agent may even have been resumed since).
bool Settler::is_over(const Node& node, const ControlOp& op) const noexcept {
  if (op.took_effect || op.verb != Verb::stop) return false;
  return node.load().state() == AgentState::stopped ? !jobs_.is_settling(node.id())
                                                    : is_open(node, node.id());
}

void Settler::on_operation_ended(Node& node) noexcept {
  if (!AgentSettler::is_ready(node)) return;
  if (!hub_.porch.holds() && !reports_.is_calling()) return agents_.settle_if_ready(node);
  try {
    deferred_.push_back(node.id());
  } catch (const std::bad_alloc&) {
    agents_.retry_later();
  }
  engine_.waker()->notify();
}

void Settler::run(loop::PollBudget& budget) {
  if (agents_.take_retry()) retry_pass_.restart();
  if (settle_deferred(budget) != Progress::done || run_passes(budget) != Progress::done) return;
  while (SettleJob* job = jobs_.front()) {
    const core::NodeId root = job->op->agent;
    if (walk_.run(*job, budget) != Progress::done) return;
    start_grace(root);
  }
}

Progress Settler::settle_deferred(loop::PollBudget& budget) {
  std::size_t done = 0;
  while (done < deferred_.size() && budget.spend()) {
    if (Node* const node = table_.find(deferred_[done++])) agents_.settle_if_ready(*node);  // may defer more
    if (hub_.closed()) return Progress::tree_gone;
  }
  deferred_.erase(deferred_.begin(), deferred_.begin() + static_cast<std::ptrdiff_t>(done));
  return deferred_.empty() ? Progress::done : Progress::more;
}

Progress Settler::run_passes(loop::PollBudget& budget) {
  const auto operations = [this] { return operations_.slots(); };
  const auto agents = [this] { return table_.slots(); };
  const auto is_tree_gone = [this] { return hub_.closed(); };
  Progress progress =
      cut_pass_.run(budget, operations, is_tree_gone, [this](auto slot) { cut_if_closed(slot); });
  if (progress != Progress::done) return progress;
  progress =
      overdue_pass_.run(budget, operations, is_tree_gone, [this](auto slot) { give_up_if_overdue(slot); });
  if (progress != Progress::done || !retry_pass_.is_active()) return progress;
  progress = retry_pass_.run(budget, agents, is_tree_gone, [this](auto slot) {
    Node& node = table_.slot(slot);
    if (!node.load().is_free()) agents_.settle_if_ready(node);
  });
  if (progress == Progress::done)
    jobs_.for_each([this](const SettleJob& job) { start_grace(job.op->agent); });
  return progress;
}

// Cuts the open calls of a small subtree, found through its agents, so that its stop does not search the
// calls of the whole tree. Keeps the order of the pass over all calls. False when the subtree is not small:
// then nothing was cut.
bool Settler::cut_small_subtree(Node& root) {
  std::array<std::pair<std::uint32_t, core::NodeId>, few_agents> busy;
  std::size_t agents = 0, count = 0;
  for (Node* node = &root; node; node = next_parent_first(table_, root, *node, true)) {
    if (++agents > few_agents) return false;
    std::uint32_t first = core::no_node;
    operations_.for_each(
        *node, [&](const turn::Operation& operation) { first = std::min(first, operation.id.slot); });
    if (first != core::no_node || turn::is_active(*node)) busy[count++] = {first, node->id()};
  }
  std::sort(busy.begin(), busy.begin() + count);
  for (std::size_t i = 0; i < count && !hub_.closed(); ++i) {
    Node* const node = table_.find(busy[i].second);  // looked up again: a callback may have run
    if (node && !is_open(*node, busy[i].second)) turns_.stop(*node);
  }
  return true;
}

void Settler::cut_if_closed(std::uint32_t slot) {
  const turn::Operation& operation = operations_.at_slot(slot);
  if (operation.node && !is_open(*operation.node, operation.agent)) turns_.stop(*operation.node);
}

void Settler::give_up_if_overdue(std::uint32_t slot) {
  Node* const node = operations_.at_slot(slot).node;
  if (!node || !node->settling.is_visited() || !is_overdue(*node)) return;
  turns_.abandon(slot);
  if (!hub_.closed()) agents_.settle_if_ready(*node);
}

// Starts the grace period of the jobs of `root` that wait for operations in flight. The grace period of a job
// that is still in the queue starts when its walk is done: before that, no operation can be abandoned.
void Settler::start_grace(core::NodeId root) noexcept {
  jobs_.for_each_of(root, [&](SettleJob& job) {
    if (job.timer || job.phase != SettleJob::Phase::waiting || !job.op->closes()) return;
    const TimePoint end = loop::later(engine_.now(), job.op->grace.value_or(grace_));
    if (!engine_.guarded("a stop's grace period", [&] { start_timer(job, end); })) agents_.retry_later();
  });
}

void Settler::start_timer(SettleJob& job, TimePoint when) {
  job.timer.emplace(tree_.engine, engine_.start_timer(when, [this, &job] { on_timer(job); }));
}

// A deferred stop has waited for too long, or a grace period is over.
void Settler::on_timer(SettleJob& job) noexcept {
  const LoopEntry entry(tree_.lifetime);
  if (hub_.closed()) return;
  if (job.is_pending()) {
    rest_.expire(job);
    static_cast<void>(harden(job.op->agent, withdrawn_));
    return;
  }
  core::Settling& settling = job.root->settling;
  settling.is_overdue = settling.is_overdue || job.op->cascade;
  settling.is_overdue_alone = true;
  overdue_pass_.restart();
}

std::size_t Settler::count(const core::References& refers) const noexcept {
  return jobs_.count(refers) +
         static_cast<std::size_t>(std::count_if(deferred_.begin(), deferred_.end(), refers));
}

void Settler::clear() {
  jobs_.clear();
  rest_.clear();
  deferred_.clear();
  cut_pass_.cancel();
  overdue_pass_.cancel();
  retry_pass_.cancel();
  static_cast<void>(agents_.take_retry());
}

}  // namespace agentcore::detail::tree
