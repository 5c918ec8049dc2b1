// Node: the slot of an agent in the slab. 128 bytes, two cache lines.
#pragma once

#include "core/atomic.hpp"
#include "core/packed_state.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/verbs.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace agentcore::detail::core {

// The data of an agent that is created with its first activity: history and turn. The turn stage derives from
// it.
struct AgentData {
  virtual ~AgentData() = default;
};

// The id that handles carry: slot and generation. 0 is no agent.
using NodeId = std::uint64_t;
constexpr NodeId make_id(std::uint32_t index, std::uint32_t generation) noexcept {
  return std::uint64_t{generation} << 32 | index;
}
constexpr std::uint32_t index_of(NodeId id) noexcept {
  return static_cast<std::uint32_t>(id);
}
constexpr std::uint32_t generation_of(NodeId id) noexcept {
  return static_cast<std::uint32_t>(id >> 32);
}

inline constexpr std::uint32_t no_node = 0xffff'ffff;

// The kind of walk that has visited an agent which has not settled since. A delete's walk also serves a stop.
enum class Visit : std::uint8_t { none, by_stop, by_delete };

// The progress of an agent's settling. Written and read by the loop thread alone; all of it is reset when the
// slot is freed. The functions of src/tree cite these invariants by number.
//
// 1. `visit` is not `none` from the visit of a walk to the end of the agent's settling. An agent settles only
//    when it was visited, has no operation in flight, and `unsettled_children` is 0.
// 2. `unsettled_children` is the number of children with `counted_in_parent`. Such a child was visited, or a
//    walker has its subtree as its own; it is subtracted when it settles or is removed.
// 3. `is_deleting` is set when the loop reads the operation of a delete, and never because of a gate: the
//    gate of a delete may be closed before the loop has read its operation.
// 4. `has_own_verb` is set from the read operation of a stop or delete of this very agent until it settles;
//    without it the cause of its stop is `parent`.
// 5. `stopped_by_ancestor` is kept after the settling: resume reopens exactly the agents below it that have
//    it.
// 6. `is_job_root` is true exactly while SettleJobs has a job of this agent.
// 7. `is_alone`: the last walk that visited the agent was that of a stop without its descendants. If another
//    stop has widened that one, the agent settles only after the walk of the widening stop. That shows in the
//    gate (`stop_tree`), and from the reading of its operation to its walk also in `is_widened`, because a
//    delete may hide the gate. If the delete comes before that reading, the agent may settle early: it cannot
//    be resumed, and its delete waits for the descendants.
struct Settling {
  std::uint32_t unsettled_children = 0;
  // Not next to the bits: the end of a settling clears both, and compilers merge writes of neighbours into
  // one that has to wait for those just before it.
  Visit visit = Visit::none;
  StopCause cause = StopCause::user;  // of the stop or delete that settles it
  bool counted_in_parent : 1 = false;
  bool stopped_by_ancestor : 1 = false;
  bool is_job_root : 1 = false;
  bool is_deleting : 1 = false;
  bool has_own_verb : 1 = false;
  bool has_abandoned : 1 = false;  // an operation was abandoned since the stop
  bool is_overdue : 1 = false;     // the grace period of its stop or delete is over, also for its descendants
  bool is_overdue_alone : 1 = false;  // that of a stop without its descendants is over
  bool is_alone : 1 = false;
  bool is_widened : 1 = false;

  bool is_visited() const noexcept { return visit != Visit::none; }
};

struct alignas(64) Node {
  // First cache line: read by every thread.

  // Written by any thread.
  Atomic<std::uint64_t> packed{PackedState{}.raw()};
  Atomic<std::uint64_t> mailbox_head{0};  // mailbox::Head
  Atomic<Node*> next_ready{nullptr};      // link of the ready list; by the thread that adds it, then the loop
  Atomic<bool> scheduled{false};          // it is in the ready list
  // Written by the loop thread when it creates the agent.
  Atomic<bool> auto_resume{false};
  Atomic<AgentRole> role{AgentRole::normal};
  std::uint8_t depth = 0;
  Atomic<std::uint16_t> mailbox_limit{0};
  // Written by verbs: most extend fields of `packed` to the descendants. `grade_below` has a meaning only
  // while there is a grade, `grade_deletes` until the delete is withdrawn: a stop may come before it.
  // `hold_below` is written together with `hold`, under AgentTable::erasing(): it is not set without a hold,
  // but for verbs in progress. `stays_stopped` is set under the same lock.
  static constexpr std::uint8_t hold_below = 1;     // a hold of this agent's mailbox holds theirs, too
  static constexpr std::uint8_t grade_below = 6;    // two bits: the Grade of deferred stops that include them
  static constexpr std::uint8_t grade_deletes = 8;  // one of the deferred stops is a delete
  // stop() was called on the agent when an ancestor had closed it: a resume of the ancestor does not reopen
  // it.
  static constexpr std::uint8_t stays_stopped = 16;
  // A restart has stopped the agent, because its code or its conversation is missing: the same.
  static constexpr std::uint8_t unusable = 64;
  // It was made for one task (core/task_mark.hpp). Written by the loop thread.
  static constexpr std::uint8_t of_task = 128;
  // Its delete, or one that is pending, has Scope::with_forks.
  static constexpr std::uint8_t deletes_forks = 32;
  Atomic<std::uint8_t> extends{0};
  AgentState reported = AgentState::idle;  // the state last reported to observers; for the loop thread alone
  Atomic<Node*> parent{nullptr};           // null only for the root sentinel; a parent outlives its children
  std::uint32_t index = 0;                 // of its slot: written before the slot is first used
  // Written by the loop thread. Other threads read only the atomic members.
  Atomic<std::uint32_t> first_child{no_node};
  Atomic<std::uint32_t> taken{0};             // messages that ever left the mailbox, modulo 2^32
  Atomic<std::uint32_t> newest_operation{0};  // slot + 1 of the newest operation in flight; 0: none

  // The cell of the message that began the turn in progress, or 0. Written before the compare-and-set that
  // begins the turn: so it belongs to the turn whose epoch a reader finds in `packed`. Until just after that
  // it has the bit `claiming`.
  static constexpr std::uint32_t claiming = 1U << 31;
  Atomic<std::uint32_t> message{0};
  // The number of the last interrupt of the whole subtree. Turns that are marked with a smaller one are
  // refused. Written by verbs, under AgentTable::erasing(). Of the root sentinel: how many interrupts of
  // subtrees there were in the tree.
  Atomic<std::uint32_t> interrupts{0};

  // Second cache line: written by the loop thread; other threads read `name` and `turn_mark` only.

  // The agent and its turns.
  alignas(64) std::shared_ptr<const AgentSpec> spec;
  std::unique_ptr<AgentData> data;
  Atomic<const std::string*> name{nullptr};  // null: generated id. Read under the name table's lock.
  std::uint32_t backlog = 0;     // messages taken off the mailbox head, oldest first: cell index + 1
  std::uint32_t operations = 0;  // operations in flight: model calls, tool calls and tasks
  std::uint32_t turns = 0;       // begun so far
  std::uint32_t next_sibling = no_node;
  std::uint32_t prev_sibling = no_node;
  // The interrupts of subtrees in this tree, when the turn in progress began. Written like `message`; read by
  // every thread.
  Atomic<std::uint32_t> turn_mark{0};

  // Stop, delete and resume.
  Settling settling;

  PackedState load(std::memory_order order = std::memory_order_acquire) const noexcept {
    return PackedState{packed.load(order)};
  }
  NodeId id() const noexcept { return make_id(index, load(std::memory_order_relaxed).generation()); }
  // `what`: the bits of `extends`.
  bool extends_below(std::uint8_t what) const noexcept {
    return (extends.load(std::memory_order_seq_cst) & what) != 0;
  }
  // Returns whether the bit was set before.
  bool extend_below(std::uint8_t what, bool on) noexcept {
    const std::uint8_t before =
        on ? extends.fetch_or(what) : extends.fetch_and(static_cast<std::uint8_t>(~what));
    return (before & what) != 0;
  }
  Grade grade_of_descendants() const noexcept {
    return static_cast<Grade>((extends.load(std::memory_order_seq_cst) & grade_below) >> 1);
  }
  // Verbs call it one at a time.
  void extend_grade(Grade below, bool deletes, bool forks) noexcept {
    const int bits =
        static_cast<int>(below) << 1 | (deletes ? grade_deletes : 0) | (forks ? deletes_forks : 0);
    std::uint8_t before = extends.load(std::memory_order_relaxed);
    while (!extends.compare_exchange_weak(
        before,
        static_cast<std::uint8_t>((before & (hold_below | stays_stopped | unusable | of_task)) | bits))) {
    }
  }
  bool is_root_sentinel() const noexcept { return parent.load(std::memory_order_relaxed) == nullptr; }

  // Replaces `expected` by `desired`; on failure `expected` becomes the present value.
  bool replace(PackedState& expected, PackedState desired) noexcept {
    std::uint64_t raw = expected.raw();
    const bool done = packed.compare_exchange_strong(raw, desired.raw(), std::memory_order_seq_cst);
    if (!done) expected = PackedState{raw};
    return done;
  }
};
static_assert(sizeof(Node) == 128);

}  // namespace agentcore::detail::core
