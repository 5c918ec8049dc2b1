#include "tree/settler.hpp"

#include "core/gates.hpp"
#include "loop/time.hpp"

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
    : table_(tree.table),
      hub_(hub),
      turns_(turns),
      operations_(tree.operations),
      engine_(*tree.engine),
      grace_(tree.options.stop_grace),
      jobs_(tree.table),
      reports_(tree.table, jobs_, hub, *tree.engine, tree.options.audit.get(), tree.cuts.get()),
      agents_(tree, hub, turns, jobs_, reports_),
      walk_(tree, hub, jobs_, agents_) {
}

void Settler::start(std::unique_ptr<ControlOp>& op) {
  SettleJobs::Draft draft = jobs_.draft(op->agent);  // makes all allocations
  SettleJob& job = draft.job();
  if (op->audit) job.record = std::make_unique<StopRecord>();
  job.op = std::move(op);
  Node* const node = table_.find(job.op->agent);
  if (job.op->closes()) log_verb(*job.op);
  if (hub_.closed()) return;
  if (!node) return reports_.call(job);  // settled and removed before its operation was read
  if (job.op->closes()) {
    begin_close(*node, *job.op);
    if (hub_.closed()) return;
  }
  if (is_over(*node, *job.op)) return reports_.call(job);
  jobs_.add(draft, *node);
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

// True for a stop that only waits for an earlier one, when that one has settled before this operation was
// read (the agent may even have been resumed since).
bool Settler::is_over(const Node& node, const ControlOp& op) const noexcept {
  if (op.took_effect || op.verb != Verb::stop) return false;
  return node.load().state() == AgentState::stopped ? !node.settling.is_job_root : is_open(node, node.id());
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
    const bool started = engine_.guarded("a stop's grace period", [&] {
      job.timer = engine_.start_timer(loop::later(engine_.now(), job.op->grace.value_or(grace_)),
                                      [this, root, all = job.op->cascade] { end_grace(root, all); });
    });
    if (!started) agents_.retry_later();
  });
}

// The grace period of a job of `root` is over. `all`: the job includes its descendants.
void Settler::end_grace(core::NodeId root, bool all) noexcept {
  Node* const node = table_.find(root);
  if (!node || hub_.closed()) return;
  node->settling.is_overdue = node->settling.is_overdue || all;
  node->settling.is_overdue_alone = true;
  overdue_pass_.restart();
}

std::size_t Settler::count(const core::References& refers) const noexcept {
  return jobs_.count(refers) +
         static_cast<std::size_t>(std::count_if(deferred_.begin(), deferred_.end(), refers));
}

void Settler::clear() {
  jobs_.for_each([this](const SettleJob& job) {
    if (job.timer) engine_.cancel_timer(job.timer);
  });
  jobs_.clear();
  deferred_.clear();
  cut_pass_.cancel();
  overdue_pass_.cancel();
  retry_pass_.cancel();
  static_cast<void>(agents_.take_retry());
}

}  // namespace agentcore::detail::tree
