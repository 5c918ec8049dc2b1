// Gates: may this agent go on? Looked up through the ancestors, from any thread.
#pragma once

#include "core/node.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

namespace agentcore::core {

// What the gates between an agent and the trunk say, its own included.
struct GateView {
  Word own;                 // the agent's word at the first look
  bool valid = false;       // the id was alive during the whole look
  Gate above = Gate::open;  // the strongest gate that an ancestor closed for its subtree
  // The state as everyone sees it: the agent's own, or what a closed ancestor makes of it.
  AgentState seen = AgentState::idle;

  // The admission: everything open.
  bool open() const noexcept { return valid && own.is_open() && above == Gate::open; }
};

// What becomes visible of an agent that is `own`, below an ancestor that is closed and `above`. None: what
// lies further up decides. The nearest verb under way wins: a delete that comes later waits for a stop (X13),
// and a stop that comes later changes nothing about a delete.
inline std::optional<AgentState> seen_below(AgentState above, AgentState own) noexcept {
  if (above == AgentState::terminating) return AgentState::terminating;
  // Below one that is stopped, who can process: that one's stop was widened, and is under way again.
  if (can_process(own)) return AgentState::stopping;
  return above == AgentState::stopping ? std::optional(own) : std::nullopt;
}

// Why this is sound without a lock. A parent outlives its children in the slab, and a freed slot gets a new
// generation before its parent pointer is written again. So a walk upward that finds its own generation
// unchanged at the end saw nothing but living ancestors (model: tests/model/gate.pml, `look`).
inline GateView look(const Node& node, std::uint32_t generation) noexcept {
  GateView view;
  view.own = node.load(std::memory_order_seq_cst);
  if (view.own.generation() != generation || view.own.is_free()) return view;
  view.seen = view.own.state();
  bool decided = view.seen == AgentState::stopping || view.seen == AgentState::terminating;
  for (const Node* up = node.parent.load(std::memory_order_acquire); up;
       up = up->parent.load(std::memory_order_acquire)) {
    const Word word = up->load(std::memory_order_seq_cst);
    if (!word.closes_subtree()) continue;
    view.above = std::max(view.above, word.gate());
    if (decided) continue;
    const std::optional<AgentState> seen = seen_below(word.state(), view.own.state());
    decided = seen.has_value();
    view.seen = seen.value_or(view.seen);
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

// The same while verbs may be under way elsewhere. A walk upward is no snapshot: an agent that it passed may
// have been deleted, and only then the ancestor been stopped that it found stopping. So what comes from above
// is believed after a second walk; then what is seen follows the state table in every order of events (model:
// tests/model/seen.pml).
inline GateView look_again(const Node& node, std::uint32_t generation) noexcept {
  const GateView view = look(node, generation);
  const bool from_above = view.valid && view.seen != view.own.state();
  return from_above ? look(node, generation) : view;
}

// True when `node` is `root` or lies below it. For the loop thread, or with a generation checked afterwards.
inline bool is_within(const Node* node, const Node* root) noexcept {
  for (; node; node = node->parent.load(std::memory_order_acquire))
    if (node == root) return true;
  return false;
}

}  // namespace agentcore::core
