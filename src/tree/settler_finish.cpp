// What the settler writes and tells at the end of an agent's stop or delete, and at its resume.
#include "tree/settler.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace agentcore::tree {

using core::Gate;
using core::Node;
using core::Word;

void Settler::let_go(Node& node) noexcept {
  if (!node.walked || node.flights != 0 || node.unsettled != 0) return;
  finish_upwards(node, is_deleted_above(node));
}

// A delete whose operation has been read. One that has not been comes for the agent later, whatever the gates
// say.
bool Settler::is_deleted_above(const Node& node) noexcept {
  const Node* up = node.parent.load(std::memory_order_relaxed);
  while (up && !up->deleting) up = up->parent.load(std::memory_order_relaxed);
  return up;
}

// Settles it, and with it those above that waited only for it.
void Settler::finish_upwards(Node& node, bool deleting_above) noexcept {
  for (Node* next = &node; next;) {
    Node* const parent = next->parent.load(std::memory_order_relaxed);
    if (!can_finish(*next, deleting_above)) return;
    const bool counted = std::exchange(next->counted, false);
    if (!finish(*next, deleting_above)) {
      next->counted =
          counted;  // the delete comes for it and for what lies below: until then those above wait
      return;
    }
    if (hub_.closed() || !counted) return;
    next = --parent->unsettled == 0 && parent->walked && parent->flights == 0 ? parent : nullptr;
    // The delete may have begun right here, and a stop above may have waited for it.
    if (next && deleting_above) deleting_above = is_deleted_above(*next);
  }
}

// A stop goes before a delete (X13): an agent that can still process is stopped before it is deleted.
bool Settler::stops_first(const Node& node, bool deleting) noexcept {
  const Word word = node.load();
  return word.state() == AgentState::stopping ||
         (can_process(word.state()) &&
          (!deleting || core::look_again(node, word.generation()).seen == AgentState::stopping));
}

// Writes the name of `node` into the reports that name it, which allocates. False when an allocation fails:
// then nothing has changed, its ancestors wait for it, and the next run() tries again.
bool Settler::can_finish(Node& node, bool deleting_above) noexcept {
  const bool deleting = deleting_above || node.deleting;
  const bool written = engine_.guarded("a report", [&] {
    record(node, stops_first(node, deleting), deleting && node.first_child == core::no_node);
  });
  if (written) return true;
  if (!node.is_trunk()) count(node);
  look_again();
  return false;
}

// Nothing of it and of what lies below is in flight: writes the end and tells it.
// False when it has to be deleted, too, and cannot be yet.
bool Settler::finish(Node& node, bool deleting_above) noexcept {
  node.walked = node.delete_walked = node.late = false;
  const core::NodeId id = node.id();
  const Word word = node.load();
  const bool deleting = deleting_above || node.deleting;
  if (stops_first(node, deleting)) {
    const std::size_t dropped = write_stopped(node);
    count_dropped(node, dropped, false);
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
std::size_t Settler::write_stopped(Node& node) noexcept {
  std::size_t dropped = 0;
  Word word = node.load();
  Word desired;
  do {
    const Gate gate = std::max(word.gate(), Gate::stop_self);
    const bool own = word.gate() != Gate::open;
    desired = word.with(AgentState::stopped).with(own ? gate : Gate::stop_tree).next_epoch();
    dropped += mailbox::close(node, pool_, desired.epoch());
    assert(word.state() != AgentState::terminating);  // a delete waits for the stop that it meets (X13)
  } while (!node.replace(word, desired));
  return dropped;
}

// The end of an agent: told, then gone from every table (D3, D4, G13).
void Settler::remove(Node& node) noexcept {
  Word word = node.load();
  Word desired;
  do desired = word.with(AgentState::terminating).with(Gate::terminate);
  while (!node.replace(word, desired));
  const std::size_t dropped = mailbox::close(node, pool_, desired.epoch());
  if (!node.direct) node.cause = StopCause::parent;
  count_dropped(node, dropped, true);
  hub_.state(node, AgentState::terminating, node.cause);
  if (hub_.closed()) return;
  hub_.settled(node, AgentState::terminating, dropped);
  if (hub_.closed()) return;
  hub_.tell(node, [](Agent agent) { return AgentDeleted{std::move(agent)}; });
  if (hub_.closed()) return;
  step_aside(node);
  table_.erase(node);
}

// stopped -> idle, from the root down through those that stopped because of it. Ends early when it is closed
// again.
bool Settler::resume_down(Job& job, loop::Budget& budget) {
  const core::NodeId id = job.root->id();
  if (!job.cursor) job.cursor = job.root;
  while (job.cursor) {
    if (!budget.spend()) return false;
    const core::GateView view = core::look(*job.root, core::generation_of(id));
    // A stop of the root alone does not hold what lies below it.
    if (!view.valid || view.own.closes_subtree() || view.above != Gate::open) break;
    Node& node = *job.cursor;
    const bool open = resume_one(job, node);
    if (hub_.closed()) return false;
    job.cursor = below_or_beside(*job.root, node, open && job.op->cascade);
  }
  dequeue(job);
  const auto [begin, end] = jobs_.equal_range(id);
  jobs_.erase(std::find_if(begin, end, [&job](const auto& entry) { return entry.second.get() == &job; }));
  table_.find(id)->has_job = jobs_.contains(id);
  return true;
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

}  // namespace agentcore::tree
