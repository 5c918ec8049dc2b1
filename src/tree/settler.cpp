#include "tree/settler.hpp"

#include "loop/time.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::tree {

using core::Gate;
using core::Node;
using core::Word;

namespace {

constexpr std::size_t most_walkers = 12;

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
    if (node->first_child == core::no_node || !job->op->cascade)
      turns_.interrupt(*node);
    else
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
  if (job->op->took_effect) queue_.push_back(job.get());
  node->has_job = true;
  jobs_.emplace(node->id(), std::move(job));
}

void Settler::run(loop::Budget& budget) {
  if (!cut(budget)) return;
  while (!queue_.empty()) {
    Job& job = *queue_.front();
    if (!walk(job, budget)) return;  // else it took itself out of the queue
  }
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
    // An earlier call of the agent, which has not let go yet, says nothing about its turn of now.
    if (!flight.node || flight.node->flight.load(std::memory_order_relaxed) != cut_next_) continue;
    if (!turn::Turns::is_active(*flight.node)) continue;
    if (core::admits(*flight.node, core::generation_of(flight.agent), flight.epoch)) continue;
    turns_.interrupt(*flight.node);
    if (hub_.closed()) return false;
  }
  return true;
}

bool Settler::walk(Job& job, loop::Budget& budget) {
  if (job.op->verb == Verb::resume) return resume_down(job, budget);
  if (!job.marked && !walk_down(job, budget)) return false;
  return walk_up(job, budget);
}

// Shows what the gate has already decided, parents before children (X14). Nobody watches: nothing to show.
bool Settler::walk_down(Job& job, loop::Budget& budget) {
  if (hub_.wants_states()) {
    if (!job.cursor) job.cursor = job.root;
    while (job.cursor) {
      if (!budget.spend()) return false;
      Node& node = *job.cursor;
      const bool descend = &node == job.root ? job.op->cascade : !skips(job, node);
      job.cursor = below_or_beside(*job.root, node, descend);
      mark(job, node);
      if (hub_.closed()) return false;
    }
  }
  job.marked = true;
  return true;
}

void Settler::mark(Job& job, Node& node) {
  if (node.is_trunk() || node.walked || (&node != job.root && skips(job, node))) return;
  const AgentState to = core::visible_state(core::look(node, node.load().generation()));
  if (to != AgentState::stopping && to != AgentState::terminating) return;
  const bool deleting = to == AgentState::terminating;
  if (&node != job.root && !node.direct) node.cause = StopCause::parent;
  Word word = node.load();
  Word desired = word;
  do {
    if (word.state() == to) break;
    if (!can_process(word.state()) && !(word.state() == AgentState::stopped && deleting)) return;
    desired =
        word.with(to).with(std::max(word.gate(), deleting ? Gate::terminate : Gate::stop_tree)).next_epoch();
  } while (!node.replace(word, desired));
  hub_.state(node, to, node.cause);
}

bool Settler::walk_up(Job& job, loop::Budget& budget) {
  const core::NodeId root = job.root->id();
  if (job.walkers.empty()) {
    job.walkers.resize(job.root->first_child == core::no_node ? 1 : most_walkers);
    job.walkers.front() = {job.root, job.root, true};
  }
  const std::size_t count = job.walkers.size();
  walking_ = &job;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < count; ++i) {
      Walker& walker = job.walkers[i];
      if (!walker.cursor) continue;
      if (!budget.spend()) return false;
      if (!walk_one(job, walker)) {
        if (!hub_.closed()) wait_for(root);
        return !hub_.closed();
      }
      any = true;
    }
  }
  dequeue(job);
  wait_for(root);
  return true;
}

void Settler::dequeue(const Job& job) {
  if (!queue_.empty() && queue_.front() == &job)
    queue_.pop_front();
  else
    std::erase(queue_, &job);
}

// One step of one walker: a level down, or a visit. False when the job or the tree is gone.
bool Settler::walk_one(Job& job, Walker& walker) {
  Node& node = *walker.cursor;
  if (walker.descending && !skips(job, node) && node.first_child != core::no_node) {
    descend(job, walker);
  } else {
    const bool at_root = &node == walker.root;
    Node* const sibling = at_root ? nullptr : table_.next_sibling(node);
    walker.descending = sibling != nullptr;
    walker.cursor = sibling ? sibling : at_root ? nullptr : node.parent.load(std::memory_order_relaxed);
    visit(job, node);
    if (hub_.closed() || !walking_) return false;
  }
  if (walker.cursor) {
    __builtin_prefetch(walker.cursor, 1);
    __builtin_prefetch(reinterpret_cast<const char*>(walker.cursor) + 64, 1);
  }
  return true;
}

// Goes down to the first child. If a walker rests, it takes over what is to come after this agent, up to the
// root of this one, who keeps only the subtree of the agent: the agent counts as unsettled until that is
// done.
void Settler::descend(Job& job, Walker& walker) {
  Node& node = *walker.cursor;
  if (&node != walker.root) {
    const auto rests = [](const Walker& other) { return !other.cursor; };
    const auto other = std::find_if(job.walkers.begin(), job.walkers.end(), rests);
    if (other != job.walkers.end()) {
      Node* const sibling = table_.next_sibling(node);
      *other = {walker.root, sibling ? sibling : node.parent.load(std::memory_order_relaxed),
                sibling != nullptr};
      walker.root = &node;
      count(node);
    }
  }
  walker.cursor = table_.first_child(node);
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

// A stop has nothing to do below what is already stopped with its children, and leaves alone what an earlier
// walk is waiting for. A delete looks everywhere but below what an earlier delete is waiting for.
bool Settler::skips(const Job& job, const Node& node) const noexcept {
  if (&node == job.root) return !job.op->cascade;
  const Word word = node.load(std::memory_order_relaxed);
  if (job.op->verb == Verb::terminate) return node.walked && node.delete_walked;
  return word.closes_subtree() && (node.walked || word.state() == AgentState::stopped);
}

Node* Settler::below_or_beside(const Node& root, const Node& node, bool descend) const noexcept {
  if (Node* child = descend ? table_.first_child(node) : nullptr) return child;
  for (const Node* up = &node; up != &root; up = up->parent.load(std::memory_order_relaxed))
    if (Node* sibling = table_.next_sibling(*up)) return sibling;
  return nullptr;
}

// Its children have been visited: settles it now, or leaves it to let_go().
void Settler::visit(Job& job, Node& node) {
  const bool is_root = &node == job.root;
  if (job.op->verb == Verb::terminate) node.delete_walked = true;
  if (node.walked && !is_root) return count(node);
  if (!is_root && job.op->verb == Verb::stop && node.load().state() == AgentState::stopped) {
    // It was stopped without its children. One of them may keep us waiting, or another walker counted on it.
    if (node.unsettled == 0 && !node.counted) return;
    node.walked = true;
    return node.unsettled == 0 ? finish_upwards(node, false) : count(node);
  }
  if (!is_root && !node.direct) {
    node.cause = StopCause::parent;
    node.by_parent = can_process(node.load().state()) || node.load().state() == AgentState::stopping;
  }
  node.walked = true;
  if (node.flights == 0 && node.unsettled == 0) return finish_upwards(node, job.op->verb == Verb::terminate);
  if (!is_root) count(node);
}

void Settler::count(Node& node) noexcept {
  if (std::exchange(node.counted, true)) return;
  ++node.parent.load(std::memory_order_relaxed)->unsettled;
}

void Settler::let_go(Node& node) {
  if (!node.walked || node.flights != 0 || node.unsettled != 0) return;
  finish_upwards(node, core::look(node, node.load().generation()).above == Gate::terminate);
}

// Settles it, and with it those above that waited only for it.
void Settler::finish_upwards(Node& node, bool deleting_above) {
  for (Node* next = &node; next;) {
    Node* const parent = next->parent.load(std::memory_order_relaxed);
    const bool counted = std::exchange(next->counted, false);
    if (!finish(*next, deleting_above)) {
      next->counted =
          counted;  // the delete comes for it and for what lies below: until then those above wait
      return;
    }
    if (hub_.closed() || !counted) return;
    next = --parent->unsettled == 0 && parent->walked && parent->flights == 0 ? parent : nullptr;
    // The delete may have begun right here, and a stop above may have waited for it.
    if (next && deleting_above)
      deleting_above = core::look(*next, next->load().generation()).above == Gate::terminate;
  }
}

// Nothing of it and of what lies below is in flight: writes the end and tells it.
// False when it has to be deleted, too, and cannot be yet.
bool Settler::finish(Node& node, bool deleting_above) {
  node.walked = node.delete_walked = false;
  const core::NodeId id = node.id();
  const Word word = node.load();
  const bool deleting = deleting_above || word.gate() == Gate::terminate;
  if (word.state() == AgentState::stopping || (can_process(word.state()) && !deleting)) {
    const std::size_t dropped = write_stopped(node);
    record(node, dropped, false);
    if (!node.is_trunk()) {
      hub_.state(node, AgentState::stopped, node.cause);
      if (hub_.closed()) return true;
      hub_.settled(node, AgentState::stopped, dropped);
      if (hub_.closed()) return true;
    }
  } else if (word.state() == AgentState::stopped &&
             !mailbox::is_closed(node, word.generation(), word.epoch())) {
    mailbox::close(node, pool_, word.epoch());  // its stop was widened: from now on it can be resumed
  }
  // Where a stop meets an agent whose delete waits for it (X13), what lies below has only been stopped: the
  // delete comes for all of them.
  if (deleting && node.first_child == core::no_node) {
    remove(node);
    if (hub_.closed()) return true;
  } else {
    node.abandoned = false;
    node.direct = deleting;
  }
  const bool done = !deleting || table_.find(id) == nullptr;
  complete_jobs(id);
  return done;
}

// Closes the door, then writes `stopped`, which is what a resume waits for. Returns the messages dropped.
std::size_t Settler::write_stopped(Node& node) {
  std::size_t dropped = 0;
  Word word = node.load();
  Word desired;
  do {
    const Gate gate = std::max(word.gate(), Gate::stop_self);
    const bool own = word.gate() != Gate::open;
    desired = word.with(AgentState::stopped).with(own ? gate : Gate::stop_tree).next_epoch();
    dropped += mailbox::close(node, pool_, desired.epoch());
  } while (!node.replace(word, desired));
  return dropped;
}

// The end of an agent: told, then gone from every table (D3, D4, G13).
void Settler::remove(Node& node) {
  Word word = node.load();
  Word desired;
  do desired = word.with(AgentState::terminating).with(Gate::terminate);
  while (!node.replace(word, desired));
  const std::size_t dropped = mailbox::close(node, pool_, desired.epoch());
  if (!node.direct) node.cause = StopCause::parent;
  record(node, dropped, true);
  hub_.state(node, AgentState::terminating, node.cause);
  if (hub_.closed()) return;
  hub_.settled(node, AgentState::terminating, dropped);
  if (hub_.closed()) return;
  hub_.tell(node, [](Agent agent) { return AgentDeleted{std::move(agent)}; });
  if (hub_.closed()) return;
  step_aside(node);
  table_.erase(node);
}

// No walk may be left standing on an agent that goes: the end of a call, or another walker, may have settled
// it.
void Settler::step_aside(const Node& node) {
  if (queue_.empty()) return;
  Job& job = *queue_.front();
  if (job.cursor == &node) job.cursor = below_or_beside(*job.root, node, false);
  for (Walker& walker : job.walkers) {
    if (walker.cursor != &node) continue;
    Node* const sibling = &node == walker.root ? nullptr : table_.next_sibling(node);
    walker.descending = sibling != nullptr;
    walker.cursor = sibling                ? sibling
                    : &node == walker.root ? nullptr
                                           : node.parent.load(std::memory_order_relaxed);
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
    engine_.log(LogLevel::warning, "a model call did not let go of its stopped agent in time",
                {{"agent", table_.names().name_of(*node, node->id())}});
    turns_.abandon(*node);
    let_go(*node);
  }
}

// stopped -> idle, from the root down through those that stopped because of it. Ends early when it is closed
// again.
bool Settler::resume_down(Job& job, loop::Budget& budget) {
  const core::NodeId id = job.root->id();
  if (!job.cursor) job.cursor = job.root;
  while (job.cursor) {
    if (!budget.spend()) return false;
    if (!core::look(*job.root, core::generation_of(id)).open()) break;  // an abort meanwhile changes nothing
    Node& node = *job.cursor;
    const bool open = resume_one(job, node);
    if (hub_.closed()) return false;
    job.cursor = below_or_beside(*job.root, node, open && job.op->cascade);
  }
  dequeue(job);
  const auto [begin, end] = jobs_.equal_range(id);
  jobs_.erase(std::find_if(begin, end, [&job](const auto& entry) { return entry.second.get() == &job; }));
  Node& root = *table_.find(id);
  root.has_job = jobs_.contains(id);
  stop_again(root);
  return true;
}

// An ancestor was closed while a foreign thread resumed `node`, and its walk may have passed by already: then
// the agent is open below a closed gate, and nobody would settle it.
void Settler::stop_again(Node& node) {
  const core::GateView view = core::look(node, node.load().generation());
  // A delete above cannot have passed by: it would have taken the stopped agent along.
  if (node.is_trunk() || !can_process(view.own.state())) return;
  if (core::visible_state(view) != AgentState::stopping) return;
  Word word = view.own;
  const Word stopping = word.with(AgentState::stopping).with(Gate::stop_tree).next_epoch();
  if (!node.replace(word, stopping)) return;  // another verb was faster and is on its way
  auto op = std::make_unique<ControlOp>();
  op->agent = node.id();
  op->epoch = stopping.epoch();
  op->cause = StopCause::parent;
  start(std::move(op));
}

// True when what lies below `node` may be resumed too.
bool Settler::resume_one(Job& job, Node& node) {
  if (&node != job.root) {
    if (!node.by_parent)
      return !node.load().closes_subtree();  // stopped by itself, perhaps without its children
    Word word = node.load();
    const Word stopped = word;
    if (word.state() != AgentState::stopped || word.gate() == Gate::terminate) return false;
    if (!node.replace(word, word.with(AgentState::idle).with(Gate::open).next_epoch())) return false;
    mailbox::open(node, stopped.generation(), stopped.epoch());
  }
  node.by_parent = false;
  // Its next turn may have begun already, and told the state itself.
  const bool idle = node.load().state() == AgentState::idle;
  if (!node.is_trunk() && idle) hub_.state(node, AgentState::idle, StopCause::user);
  return true;
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
