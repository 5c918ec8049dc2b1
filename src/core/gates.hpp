// Gates: may this agent go on? Looked up through the ancestors, from any thread.
#pragma once

#include "core/node.hpp"

#include <atomic>

namespace agentcore::core {

// What the gates between an agent and the trunk say, its own included.
struct GateView {
  Word own;                                   // the agent's word at the first look
  bool valid = false;                         // the id was alive during the whole look
  Gate above = Gate::open;                    // the strongest gate that an ancestor closed for its subtree
  AgentState above_state = AgentState::idle;  // state of that ancestor
  bool stop_above = false;                    // the stop of an ancestor is under way

  // The admission: everything open.
  bool open() const noexcept { return valid && own.is_open() && above == Gate::open; }
};

// Why this is sound without a lock. A parent outlives its children in the slab, and a freed slot gets a new
// generation before its parent pointer is written again. So a walk upward that finds its own generation
// unchanged at the end saw nothing but living ancestors (model: tests/model/gate.pml, `look`).
inline GateView look(const Node& node, std::uint32_t generation) noexcept {
  GateView view;
  view.own = node.load(std::memory_order_seq_cst);
  if (view.own.generation() != generation || view.own.is_free()) return view;
  for (const Node* up = node.parent.load(std::memory_order_acquire); up;
       up = up->parent.load(std::memory_order_acquire)) {
    const Word word = up->load(std::memory_order_seq_cst);
    if (!word.closes_subtree()) continue;
    // An agent that is not stopped, below one that is: that one's stop was widened, and is under way again.
    view.stop_above = view.stop_above || word.state() == AgentState::stopping ||
                      (word.state() == AgentState::stopped && can_process(view.own.state()));
    if (word.gate() <= view.above) continue;
    view.above = word.gate();
    view.above_state = word.state();
  }
  view.valid = node.load().generation() == generation;
  return view;
}

// The admission point's short form: true when `node` is still the agent of that generation and epoch, and
// neither it nor an ancestor is closed (G1). Sequentially consistent against the store that closes a gate.
inline bool admits(const Node& node, std::uint32_t generation, std::uint32_t epoch) noexcept {
  const Word own = node.load(std::memory_order_seq_cst);
  if (own.generation() != generation || own.epoch() != epoch || own.is_free() || !own.is_open()) return false;
  for (const Node* up = node.parent.load(std::memory_order_acquire); up;
       up = up->parent.load(std::memory_order_acquire))
    if (up->load(std::memory_order_seq_cst).closes_subtree()) return false;
  return node.load().generation() == generation;
}

// The state as everyone sees it: the agent's own, or what a closed ancestor makes of it. In every order of
// events what is seen follows the state table.
inline AgentState visible_state(const GateView& view) noexcept {
  const AgentState own = view.own.state();
  if (view.above == Gate::open) return own;
  // A delete waits for the stop that it meets (X13), so that nobody sees `terminating` turn into `stopping`.
  const bool deleting =
      view.above == Gate::terminate && view.above_state == AgentState::terminating && !view.stop_above;
  if (can_process(own)) return deleting ? AgentState::terminating : AgentState::stopping;
  if (own == AgentState::stopped && deleting) return AgentState::terminating;
  return own;
}

// True when `node` is `root` or lies below it. For the loop thread, or with a generation checked afterwards.
inline bool is_within(const Node* node, const Node* root) noexcept {
  for (; node; node = node->parent.load(std::memory_order_acquire))
    if (node == root) return true;
  return false;
}

}  // namespace agentcore::core
