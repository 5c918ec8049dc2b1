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

bool is_late(const Node& node) noexcept {
  const Node* up = &node;
  while (up && !up->late) up = up->parent.load(std::memory_order_relaxed);
  return up;
}

}  // namespace

void Settler::start(std::unique_ptr<ControlOp>& op) {
  // Everything that allocates comes first.
  Jobs place;
  Job& job = *place.emplace(op->agent, std::make_unique<Job>())->second;
  std::list<Job*> queued{&job};
  const auto room =
      static_cast<std::size_t>(jobs_.max_load_factor() * static_cast<float>(jobs_.bucket_count()));
  if (jobs_.size() >= room) jobs_.reserve(2 * (jobs_.size() + 1));

  job.op = std::move(op);
  Node* const node = table_.find(job.op->agent);
  if (!node) return report(job);  // settled and gone before its operation was read
  if (job.op->took_effect && job.op->verb != Verb::resume) {
    node->cause = job.op->cause;
    node->by_parent = job.op->cause == StopCause::parent;
    node->direct = true;
    if (job.op->verb == Verb::terminate) node->deleting = true;
    if (node->first_child == core::no_node || !job.op->cascade)
      turns_.stop(*node);
    else if (!cut_few(*node))
      cut_next_ = 0;
    if (hub_.closed()) return;
  }
  job.root = node;
  job.number = next_number_++;
  const Word word = node->load();
  // A stop that only waits for another: that one may have settled, and the agent even been resumed, before
  // this was read.
  const bool over =
      word.state() == AgentState::stopped ? !node->has_job : core::look(*node, word.generation()).open();
  if (!job.op->took_effect && job.op->verb == Verb::stop && over) return report(job);
  if (job.op->wants_report()) ++reports_wanted_;
  if (job.op->took_effect) {
    job.place = queued.begin();
    queue_.splice(queue_.end(), queued);
  }
  node->has_job = true;
  jobs_.insert(place.extract(place.begin()));
}

void Settler::run(loop::Budget& budget) {
  if (std::exchange(look_again_, false)) look_next_ = 0;
  if (!cut(budget) || !give_up(budget) || !settle_again(budget)) return;
  while (!queue_.empty()) {
    Job& job = *queue_.front();
    if (!walk(job, budget)) return;  // else it took itself out of the queue
  }
}

// Cuts the open calls of a small subtree, found by way of its agents, so that its stop does not search the
// calls of the whole tree. Keeps the order of cut(). False when the subtree is not small: nothing was done.
bool Settler::cut_few(Node& root) {
  std::array<std::pair<std::uint32_t, core::NodeId>, few_agents> busy;
  std::size_t agents = 0, count = 0;
  for (Node* node = &root; node; node = below_or_beside(root, *node, true)) {
    if (++agents > few_agents) return false;
    std::uint32_t first = pass_done;
    turns_.flights().for_each(*node, [&](std::uint32_t slot) { first = std::min(first, slot); });
    if (first != pass_done) busy[count++] = {first, node->id()};
  }
  std::sort(busy.begin(), busy.begin() + count);
  for (std::size_t i = 0; i < count && !hub_.closed(); ++i) {
    Node* const node = table_.find(busy[i].second);  // looked up again: a callback may have run
    if (node && !core::look(*node, core::generation_of(busy[i].second)).open()) turns_.stop(*node);
  }
  return true;
}

// False when there is more to do, or nothing any more.
bool Settler::cut(loop::Budget& budget) {
  turn::Flights& flights = turns_.flights();
  while (cut_next_ != pass_done) {
    if (cut_next_ >= flights.slots()) {
      cut_next_ = pass_done;
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

// Gives up the calls that have not ended although the grace period of a stop or delete of their agent, or of
// an ancestor, is over. Returns as cut() does.
bool Settler::give_up(loop::Budget& budget) {
  turn::Flights& flights = turns_.flights();
  while (late_next_ != pass_done) {
    if (late_next_ >= flights.slots()) {
      late_next_ = pass_done;
      break;
    }
    if (!budget.spend()) return false;
    const std::uint32_t slot = late_next_++;
    Node* const node = flights[slot].node;
    if (!node || !node->walked || !is_late(*node)) continue;
    turns_.abandon(slot);
    if (hub_.closed()) return false;
    let_go(*node);
    if (hub_.closed()) return false;
  }
  return true;
}

// Settles what an allocation failure has held up: visits all agents. Returns as cut() does.
bool Settler::settle_again(loop::Budget& budget) {
  while (look_next_ != pass_done) {
    if (look_next_ >= table_.slots()) {
      look_next_ = pass_done;
      for (const auto& [root, job] : jobs_) wait_for(root);
      break;
    }
    if (!budget.spend()) return false;
    Node& node = table_.slot(look_next_++);
    if (!node.load().is_free()) let_go(node);
    if (hub_.closed()) return false;
  }
  return true;
}

void Settler::dequeue(Job& job) noexcept {
  if (const auto place = std::exchange(job.place, std::nullopt)) queue_.erase(*place);
}

// Starts the grace period of the jobs of `root` that wait for calls which have not ended yet. A job that is
// still in the queue gets its grace period when its walk is done: before that, no call can be given up.
void Settler::wait_for(core::NodeId root) noexcept {
  for (auto [it, end] = jobs_.equal_range(root); it != end; ++it) {
    Job& job = *it->second;
    if (job.timer || job.place || !job.op->took_effect || job.op->verb == Verb::resume) continue;
    const bool started = engine_.guarded("a stop's grace period", [&] {
      job.timer = engine_.start_timer(loop::later(engine_.now(), job.op->deadline.value_or(grace_)),
                                      [this, root] { expire(root); });
    });
    if (!started) look_again();
  }
}

// Calls write(job) for each job whose report names `node`: as stopped, or as removed.
template <typename Write>
void Settler::each_report(const Node& node, bool removed, Write&& write) {
  if (reports_wanted_ == 0) return;
  for (const Node* up = &node; up; up = up->parent.load(std::memory_order_relaxed)) {
    if (!up->has_job) continue;
    for (auto [it, end] = jobs_.equal_range(up->id()); it != end; ++it) {
      Job& job = *it->second;
      if (!job.op->wants_report() || (job.op->verb == Verb::terminate) != removed) continue;
      if (up == &node || job.op->cascade) write(job);
    }
  }
}

// Writes the name of an agent that is about to stop (`stops`), or to be removed (`goes`), or both, into the
// reports of the jobs that do it. When it throws, it has undone its changes.
void Settler::record(const Node& node, bool stops, bool goes) {
  const auto each_list = [&](auto&& visit) {
    for (const bool removed : {false, true}) {
      if (!(removed ? goes : stops)) continue;
      each_report(node, removed, [&](Job& job) {
        if (job.root != &node) visit(job.done);
        if (node.abandoned) visit(job.failed);
      });
    }
  };
  std::string name;
  std::size_t written = 0;
  try {
    each_list([&](std::vector<std::string>& names) {
      if (name.empty()) name = table_.names().name_of(node, node.id());
      names.push_back(name);
      ++written;
    });
  } catch (...) {
    each_list([&](std::vector<std::string>& names) {
      if (written == 0) return;
      names.pop_back();
      --written;
    });
    throw;
  }
}

void Settler::count_dropped(const Node& node, std::size_t messages, bool removed) noexcept {
  each_report(node, removed, [messages](Job& job) { job.messages_dropped += messages; });
}

// Takes out the jobs that have `root` as their root (with `stops_only` only the stops), in the order in which
// their verbs were called.
std::unique_ptr<Settler::Job> Settler::take_done(core::NodeId root, bool stops_only) noexcept {
  std::unique_ptr<Job> first;
  Job* last = nullptr;
  for (auto [it, end] = jobs_.equal_range(root); it != end;) {
    if (stops_only && it->second->op->verb != Verb::stop) {
      ++it;
      continue;
    }
    std::unique_ptr<Job> job = std::move(it->second);
    it = jobs_.erase(it);
    std::unique_ptr<Job>* place = &first;
    if (last && last->number < job->number) place = &last->next;
    while (*place && (*place)->number < job->number) place = &(*place)->next;
    if (!*place) last = job.get();
    job->next = std::exchange(*place, nullptr);
    *place = std::move(job);
  }
  return first;
}

// Ends the jobs that have `root` as their root, but for a delete whose agent is still there, and calls their
// completions.
void Settler::complete_jobs(core::NodeId root) noexcept {
  Node* const node = table_.find(root);
  if (node ? !node->has_job : !jobs_.contains(root)) return;
  std::unique_ptr<Job> done = take_done(root, node != nullptr);
  if (node) node->has_job = jobs_.contains(root);
  for (Job* job = done.get(); job; job = job->next.get()) {
    dequeue(*job);
    if (walking_ == job) walking_ = nullptr;
    if (job->timer) engine_.cancel_timer(job->timer);
    if (job->op->wants_report()) --reports_wanted_;
  }
  while (done && !hub_.closed()) {
    report(*done);
    done = std::exchange(done->next, nullptr);
  }
  while (done) done = std::exchange(done->next, nullptr);  // one by one: recursion could exhaust the stack
}

void Settler::report(Job& job) noexcept {
  ControlOp& op = *job.op;
  reporting_ = true;
  if (op.on_stopped) {
    const StopReport made{std::move(op.agent_name), op.cause,
                          std::move(op.reason),     std::move(job.done),
                          std::move(job.failed),    job.messages_dropped};
    engine_.guarded("StopOptions::on_settled", [&] { op.on_stopped(made); });
  } else if (op.on_terminated) {
    const TerminateReport made{std::move(op.agent_name), op.cause,
                               std::move(op.reason),     std::move(job.done),
                               std::move(job.failed),    job.messages_dropped};
    engine_.guarded("TerminateOptions::on_settled", [&] { op.on_terminated(made); });
  }
  reporting_ = false;
  if (engine_.closed()) hub_.close();
}

// The grace period of a job of `root` is over.
void Settler::expire(core::NodeId root) noexcept {
  Node* const node = table_.find(root);
  if (!node || hub_.closed()) return;
  node->late = true;
  late_next_ = 0;
}

void Settler::clear() {
  for (auto& [root, job] : jobs_)
    if (job->timer) engine_.cancel_timer(job->timer);
  queue_.clear();
  walking_ = nullptr;
  Jobs().swap(jobs_);
  reports_wanted_ = 0;
  cut_next_ = late_next_ = look_next_ = pass_done;
  look_again_ = false;
}

}  // namespace agentcore::tree
