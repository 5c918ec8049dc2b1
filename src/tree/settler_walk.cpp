// The settler's walks: down to show what the gate has decided, up to settle it.
#include "tree/settler.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::tree {

using core::Gate;
using core::Node;
using core::Word;

namespace {

constexpr std::size_t most_walkers = 12;

}  // namespace

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
  if (node.is_trunk() || (&node != job.root && (node.walked || skips(job, node)))) return;
  const AgentState to = core::look_again(node, node.load().generation()).seen;
  if (to != AgentState::stopping && to != AgentState::terminating) return;
  const bool deleting = to == AgentState::terminating;
  if (&node != job.root && !node.direct) node.cause = StopCause::parent;
  Word word = node.load();
  Word desired = word;
  do {
    if (word.state() == to) break;
    // What is stopped shows its delete now, unless a stop below it goes first: then when it is removed.
    const bool settled = word.state() == AgentState::stopped && word.gate() != Gate::terminate &&
                         mailbox::is_closed(node, word.generation(), word.epoch());
    if (!can_process(word.state()) && !(settled && deleting)) return;
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

// A stop has nothing to do below what is already stopped with its children, and leaves alone what an earlier
// walk is waiting for. A delete looks everywhere but below what an earlier delete is waiting for.
bool Settler::skips(const Job& job, const Node& node) const noexcept {
  if (&node == job.root) return !job.op->cascade;
  const Word word = node.load(std::memory_order_relaxed);
  // Where a delete waits for a stop without the children, nobody has been there yet.
  if (job.op->verb == Verb::terminate || word.gate() == Gate::terminate)
    return node.walked && node.delete_walked;
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

}  // namespace agentcore::tree
