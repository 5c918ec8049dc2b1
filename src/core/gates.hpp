// Gates: whether an agent may act. Looked up through its ancestors, from any thread.
#pragma once

#include "core/node.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

namespace agentcore::detail::core {

// True if the turn in progress was interrupted together with a subtree.
inline bool is_interrupted(const Node& node) noexcept {
  const std::uint32_t mark = node.turn_mark.load(std::memory_order_relaxed);
  for (const Node* up = &node; !up->is_root_sentinel(); up = up->parent.load(std::memory_order_acquire))
    if (up->interrupts.load(std::memory_order_seq_cst) > mark) return true;
  return false;
}

// The same, after a walk from the agent has ended at the root sentinel, which counts all interrupts of
// subtrees: without a new one nothing else is read.
inline bool is_interrupted(const Node& node, const Node& sentinel) noexcept {
  const std::uint32_t mark = node.turn_mark.load(std::memory_order_relaxed);
  return sentinel.interrupts.load(std::memory_order_seq_cst) > mark && is_interrupted(node);
}

// What may not begin below open gates: what a pause or a deferred stop withholds. Each level includes
// those before it.
enum class Withheld : std::uint8_t {
  nothing,
  turns,
  steps,  // a step is a model call with the tool calls of its answer
  all,    // tool calls, questions for approval, attempts of a client, ...
};

// The grade in `packed`, the packed state of `up`, for `node`, which is `up` or lies below it.
inline Grade grade_for(const Node& node, const Node& up, PackedState packed) noexcept {
  const Grade grade = packed.stop_grade();
  return grade == Grade::none || &up == &node ? grade : std::min(grade, up.grade_of_descendants());
}

constexpr Withheld withheld_by(bool paused, Grade grade) noexcept {
  if (paused) return Withheld::all;
  if (grade == Grade::after_step) return Withheld::steps;
  return grade == Grade::after_turn ? Withheld::turns : Withheld::nothing;
}

// Whose deferred stops withhold something from a turn.
enum class Grades : std::uint8_t {
  all,
  own,  // those of the agent itself: the turn is a part of a tool call of an ancestor, which may end
};

// What an agent and its ancestors withhold from a turn of the agent. @threadsafe
inline Withheld withheld(const Node& node, Grades grades) noexcept {
  Withheld level = Withheld::nothing;
  for (const Node* up = &node; up; up = up->parent.load(std::memory_order_acquire)) {
    const PackedState packed = up->load(std::memory_order_seq_cst);
    const bool counts = up == &node || grades == Grades::all;
    level =
        std::max(level, withheld_by(packed.is_paused(), counts ? grade_for(node, *up, packed) : Grade::none));
  }
  return level;
}

// The nearest of the agent and its ancestors that is paused; null if none is. @threadsafe
inline const Node* paused_by(const Node& node) noexcept {
  const Node* up = &node;
  while (up && !up->load(std::memory_order_seq_cst).is_paused())
    up = up->parent.load(std::memory_order_acquire);
  return up;
}

// The result of a walk from an agent up to the root sentinel.
struct GateView {
  PackedState own;          // the agent's packed state at the beginning of the walk
  bool valid = false;       // the id was alive during the whole walk
  Gate above = Gate::open;  // the strongest gate that an ancestor closed for its subtree
  // The effective state: the agent's own, or the one that a closed ancestor imposes; `idle` if the turn was
  // interrupted together with a subtree.
  AgentState effective = AgentState::idle;
  bool paused = false;        // the agent or an ancestor is paused
  Grade grade = Grade::none;  // the strictest deferred stop that is pending

  // True for an admission: the agent's gate and those of all ancestors are open.
  bool open() const noexcept { return valid && own.is_open() && above == Gate::open; }
};

// The effective state of an agent in state `own`, below an ancestor that is closed for its subtree and in
// state `above`. None: the ancestors further up decide. The nearest verb in progress decides: a later delete
// waits for a stop (X13), and a later stop does not change a delete.
inline std::optional<AgentState> effective_below(AgentState above, AgentState own) noexcept {
  if (above == AgentState::terminating) return AgentState::terminating;
  // Below a stopped ancestor an agent can process only while the ancestor's stop is being widened.
  if (can_process(own)) return AgentState::stopping;
  return above == AgentState::stopping ? std::optional(own) : std::nullopt;
}

// Reads the agent and its ancestors, without a lock. This is sound because a parent outlives its children in
// the slab, and a freed slot gets a new generation before its parent pointer is written again. So if the
// generation of the agent is unchanged at the end of the walk, the walk has read only living ancestors of
// this agent (model: tests/model/gate.pml, `look`).
inline GateView look(const Node& node, std::uint32_t generation) noexcept {
  GateView view;
  view.own = node.load(std::memory_order_seq_cst);
  if (view.own.generation() != generation || view.own.is_free()) return view;
  view.effective = view.own.state();
  view.paused = view.own.is_paused();
  view.grade = view.own.stop_grade();
  const Node* last = &node;
  bool decided = view.effective == AgentState::stopping || view.effective == AgentState::terminating;
  for (const Node* up = node.parent.load(std::memory_order_acquire); up;
       up = up->parent.load(std::memory_order_acquire)) {
    const PackedState packed = up->load(std::memory_order_seq_cst);
    last = up;
    view.paused = view.paused || packed.is_paused();
    view.grade = std::max(view.grade, grade_for(node, *up, packed));
    if (!packed.closes_subtree()) continue;
    view.above = std::max(view.above, packed.gate());
    if (decided) continue;
    const std::optional<AgentState> from_above = effective_below(packed.state(), view.own.state());
    decided = from_above.has_value();
    view.effective = from_above.value_or(view.effective);
  }
  if (can_process(view.effective) && is_interrupted(node, *last)) view.effective = AgentState::idle;
  view.valid = node.load().generation() == generation;
  return view;
}

// The admission: true when `node` is still the agent of that generation and epoch, and neither its gate nor
// an ancestor's is closed (G1). Sequentially consistent against the compare-and-set that closes a gate.
inline bool admits(const Node& node, std::uint32_t generation, std::uint32_t epoch) noexcept {
  const PackedState own = node.load(std::memory_order_seq_cst);
  if (!admits_by_itself(own, generation, epoch)) return false;
  for (const Node* up = node.parent.load(std::memory_order_acquire); up;
       up = up->parent.load(std::memory_order_acquire))
    if (up->load(std::memory_order_seq_cst).closes_subtree()) return false;
  return node.load().generation() == generation;
}

// admits() for the turn of that epoch: false also if it was interrupted together with a subtree.
inline bool admits_turn(const Node& node, std::uint32_t generation, std::uint32_t epoch) noexcept {
  const PackedState own = node.load(std::memory_order_seq_cst);
  if (!admits_by_itself(own, generation, epoch)) return false;
  const Node* last = &node;
  for (const Node* up = node.parent.load(std::memory_order_acquire); up;
       up = up->parent.load(std::memory_order_acquire)) {
    if (up->load(std::memory_order_seq_cst).closes_subtree()) return false;
    last = up;
  }
  return !is_interrupted(node, *last) && node.load().generation() == generation;
}

// admits() for the beginning of a turn: false also if turns are withheld, or the mailbox of the agent is
// held, or that of an ancestor together with its subtree. With Grades::own a hold does not count: the turn is
// a part of a tool call, which would wait for ever.
inline bool may_begin_turn(const Node& node, std::uint32_t generation, std::uint32_t epoch,
                           Grades grades = Grades::all) noexcept {
  const PackedState own = node.load(std::memory_order_seq_cst);
  const bool counts_holds = grades == Grades::all;
  const std::uint64_t clear =
      (counts_holds ? layout::hold.mask() : 0) | layout::pause.mask() | layout::stop_grade.mask();
  if (!admits_by_itself(own, generation, epoch, clear)) return false;
  for (const Node* up = node.parent.load(std::memory_order_acquire); up;
       up = up->parent.load(std::memory_order_acquire)) {
    const PackedState packed = up->load(std::memory_order_seq_cst);
    const Grade grade = grades == Grades::all ? grade_for(node, *up, packed) : Grade::none;
    if (packed.closes_subtree() || withheld_by(packed.is_paused(), grade) != Withheld::nothing) return false;
    if (counts_holds && packed.is_held() && up->extends_below(Node::hold_below)) return false;
  }
  return node.load().generation() == generation;
}

// The agent's packed state if no gate up from it is closed, and no deferred stop is pending: then it accepts
// messages. Otherwise the state of a free slot: then look() decides, because some stops of an ancestor do not
// concern the agent.
inline PackedState accepting(const Node& node, std::uint32_t generation) noexcept {
  const PackedState own = node.load(std::memory_order_seq_cst);
  if (own.generation() != generation || own.is_free() || !own.has_no_stop()) return PackedState{};
  for (const Node* up = node.parent.load(std::memory_order_acquire); up;
       up = up->parent.load(std::memory_order_acquire))
    if (!up->load(std::memory_order_seq_cst).has_no_stop()) return PackedState{};
  if (node.load().generation() != generation) return PackedState{};
  return own;
}

// True if no message of the agent begins a turn until a release of it, or of an ancestor.
inline bool is_queue_held(const Node& node) noexcept {
  for (const Node* up = &node; up; up = up->parent.load(std::memory_order_acquire)) {
    const bool counts = up == &node || up->extends_below(Node::hold_below);
    if (up->load(std::memory_order_seq_cst).is_held() && counts) return true;
  }
  return false;
}

// look() for use while other threads may run verbs. A walk is not a snapshot: after the walk passed an agent,
// that agent may be deleted, and then an ancestor may be stopped, which the walk reads as stopping. So an
// effective state that comes from an ancestor is taken from a second walk; then it follows the state table in
// every order of events (model: tests/model/effective.pml).
inline GateView look_again(const Node& node, std::uint32_t generation) noexcept {
  const GateView view = look(node, generation);
  const bool from_above = view.valid && view.effective != view.own.state();
  return from_above ? look(node, generation) : view;
}

// The effective state of an agent in state `own`, but for interrupts of a subtree. The walk ends at the
// ancestor that decides.
inline AgentState look_for_stop(const Node& node, AgentState own) noexcept {
  if (own == AgentState::stopping || own == AgentState::terminating) return own;
  for (const Node* up = node.parent.load(std::memory_order_acquire); up;
       up = up->parent.load(std::memory_order_acquire)) {
    const PackedState packed = up->load(std::memory_order_seq_cst);
    if (!packed.closes_subtree()) continue;
    if (const auto from_above = effective_below(packed.state(), own)) return *from_above;
  }
  return own;
}

// The effective state of an agent that exists, but for interrupts of a subtree. As in look_again(), a state
// that comes from an ancestor is taken from a second walk.
inline AgentState stop_state(const Node& node) noexcept {
  const AgentState own = node.load(std::memory_order_seq_cst).state();
  if (look_for_stop(node, own) == own) return own;
  return look_for_stop(node, node.load(std::memory_order_seq_cst).state());
}

// True when `node` is `root` or lies below it. On other threads than the loop thread the caller must check a
// generation afterwards.
inline bool is_within(const Node* node, const Node* root) noexcept {
  for (; node; node = node->parent.load(std::memory_order_acquire))
    if (node == root) return true;
  return false;
}

}  // namespace agentcore::detail::core
