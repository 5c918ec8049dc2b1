// The settler's jobs: taken over, queued, reported, given up.
#include "tree/settler.hpp"

#include "loop/time.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace agentcore::tree {

using core::Node;
using core::Word;

namespace {

constexpr std::size_t few_agents = 64;

}  // namespace

void Settler::start(std::unique_ptr<ControlOp> op) {
  Node* node = table_.find(op->agent);
  auto job = std::make_unique<Job>();
  job->op = std::move(op);
  if (!node) return report(*job);  // settled and gone before its operation was read
  if (job->op->took_effect && job->op->verb != Verb::resume) {
    node->cause = job->op->cause;
    node->by_parent = job->op->cause == StopCause::parent;
    node->direct = true;
    if (job->op->verb == Verb::terminate) node->deleting = true;
    if (node->first_child == core::no_node || !job->op->cascade)
      turns_.stop(*node);
    else if (!cut_few(*node))
      cut_next_ = 0;
    if (hub_.closed()) return;
  }
  job->root = node;
  job->number = next_number_++;
  const Word word = node->load();
  // A stop that only waits for another: that one may have settled, and the agent even been resumed, before
  // this was read.
  const bool over =
      word.state() == AgentState::stopped ? !node->has_job : core::look(*node, word.generation()).open();
  if (!job->op->took_effect && job->op->verb == Verb::stop && over) return report(*job);
  if (job->op->wants_report()) ++reports_wanted_;
  if (job->op->took_effect) queue_.emplace(job->number, job.get());
  node->has_job = true;
  jobs_.emplace(node->id(), std::move(job));
}

void Settler::run(loop::Budget& budget) {
  if (!cut(budget)) return;
  while (!queue_.empty()) {
    Job& job = *queue_.begin()->second;
    if (!walk(job, budget)) return;  // else it took itself out of the queue
  }
}

// Cuts what flies in a small subtree by its agents, so that its stop costs no look at the calls of all
// others. In the order of cut(). False: it is not small, and nothing was done.
bool Settler::cut_few(Node& root) {
  std::array<std::pair<std::uint32_t, core::NodeId>, few_agents> busy;
  std::size_t agents = 0, count = 0;
  for (Node* node = &root; node; node = below_or_beside(root, *node, true)) {
    if (++agents > few_agents) return false;
    std::uint32_t first = cut_done;
    turns_.flights().for_each(*node, [&](std::uint32_t slot) { first = std::min(first, slot); });
    if (first != cut_done) busy[count++] = {first, node->id()};
  }
  std::sort(busy.begin(), busy.begin() + count);
  for (std::size_t i = 0; i < count && !hub_.closed(); ++i) {
    Node* const node = table_.find(busy[i].second);  // a callback may have done anything
    if (node && !core::look(*node, core::generation_of(busy[i].second)).open()) turns_.stop(*node);
  }
  return true;
}

// False when there is more to do, or nothing any more.
bool Settler::cut(loop::Budget& budget) {
  turn::Flights& flights = turns_.flights();
  while (cut_next_ != cut_done) {
    if (cut_next_ >= flights.slots()) {
      cut_next_ = cut_done;
      break;
    }
    if (!budget.spend()) return false;
    const turn::Flight& flight = flights[cut_next_++];
    if (!flight.node || core::look(*flight.node, core::generation_of(flight.agent)).open()) continue;
    turns_.stop(*flight.node);
    if (hub_.closed()) return false;
  }
  return true;
}

// Whoever is still there has something that did not let go yet. Its patience begins now.
void Settler::wait_for(core::NodeId root) {
  for (auto [it, end] = jobs_.equal_range(root); it != end; ++it) {
    Job& job = *it->second;
    if (job.timer || !job.op->took_effect || job.op->verb == Verb::resume) continue;
    job.timer = engine_.start_timer(loop::later(engine_.now(), job.op->deadline.value_or(grace_)),
                                    [this, root] { give_up(root); });
  }
}

// Writes an agent that stopped, or is removed, into the reports of the jobs that did it.
void Settler::record(const Node& node, std::size_t messages_dropped, bool removed) {
  if (reports_wanted_ == 0) return;
  std::string name;
  for (const Node* up = &node; up; up = up->parent.load(std::memory_order_relaxed)) {
    if (!up->has_job) continue;
    for (auto [it, end] = jobs_.equal_range(up->id()); it != end; ++it) {
      Job& job = *it->second;
      if (!job.op->wants_report() || (job.op->verb == Verb::terminate) != removed) continue;
      if (up != &node && !job.op->cascade) continue;
      if (name.empty()) name = table_.names().name_of(node, node.id());
      job.messages_dropped += messages_dropped;
      if (up != &node) job.done.push_back(name);
      if (node.abandoned) job.failed.push_back(name);
    }
  }
}

// Those that have `root` as their root are done, but for a delete whose agent is still there.
void Settler::complete_jobs(core::NodeId root) {
  Node* const node = table_.find(root);
  if (node ? !node->has_job : !jobs_.contains(root)) return;
  std::vector<std::unique_ptr<Job>> done;
  for (auto [it, end] = jobs_.equal_range(root); it != end;) {
    if (node && it->second->op->verb != Verb::stop) {
      ++it;
      continue;
    }
    done.push_back(std::move(it->second));
    it = jobs_.erase(it);
  }
  if (node) node->has_job = jobs_.contains(root);
  std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) { return a->number < b->number; });
  for (auto& job : done) {
    dequeue(*job);
    if (walking_ == job.get()) walking_ = nullptr;
    if (job->timer) engine_.cancel_timer(job->timer);
    if (job->op->wants_report()) --reports_wanted_;
  }
  for (auto& job : done) {
    if (hub_.closed()) return;
    report(*job);
  }
}

void Settler::report(Job& job) {
  ControlOp& op = *job.op;
  reporting_ = true;
  if (op.on_stopped) {
    const StopReport told{std::move(op.agent_name), op.cause,
                          std::move(op.reason),     std::move(job.done),
                          std::move(job.failed),    job.messages_dropped};
    engine_.guarded("StopOptions::on_settled", [&] { op.on_stopped(told); });
  } else if (op.on_terminated) {
    const TerminateReport told{std::move(op.agent_name), op.cause,
                               std::move(op.reason),     std::move(job.done),
                               std::move(job.failed),    job.messages_dropped};
    engine_.guarded("TerminateOptions::on_settled", [&] { op.on_terminated(told); });
  }
  reporting_ = false;
  if (engine_.closed()) hub_.close();
}

// The grace of the jobs of `root` is over: forgets the calls that have not let go, and says whose they were.
void Settler::give_up(core::NodeId root_id) {
  turn::Flights& flights = turns_.flights();
  for (std::uint32_t slot = 0; slot < flights.slots(); ++slot) {
    Node* const root = table_.find(root_id);
    if (!root || hub_.closed()) return;
    Node* const node = flights[slot].node;
    if (!node || !node->walked || !core::is_within(node, root)) continue;
    turns_.abandon(slot);
    if (hub_.closed()) return;
    let_go(*node);
  }
}

void Settler::clear() {
  for (auto& [root, job] : jobs_)
    if (job->timer) engine_.cancel_timer(job->timer);
  queue_.clear();
  walking_ = nullptr;
  Jobs().swap(jobs_);
  reports_wanted_ = 0;
  cut_next_ = cut_done;
}

}  // namespace agentcore::tree
