// Node: an agent's place in the slab. 128 bytes, two cache lines.
#pragma once

#include "core/word.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/verbs.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace agentcore::core {

// What an agent needs only once it does something: its history and its turn. Derived from by the turn stage.
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

struct alignas(64) Node {
  // First line: what every thread reads.
  std::atomic<std::uint64_t> word{Word{}.raw()};
  std::atomic<Node*> parent{nullptr};  // null only for the trunk; a parent outlives its children in the slab
  std::atomic<std::uint64_t> door{0};  // mailbox head, see mailbox/mailbox.hpp
  std::atomic<Node*> next_ready{nullptr};
  std::uint32_t index = 0;
  std::atomic<std::uint32_t> first_child{no_node};  // links are the loop thread's; any thread may read this
  std::uint32_t next_sibling = no_node;
  std::uint32_t prev_sibling = no_node;
  std::atomic<std::uint32_t> flight{0};  // slot + 1 of what was begun last and is open; 0: none
  std::atomic<std::uint16_t> mailbox_limit{0};
  std::atomic<bool> scheduled{false};  // lies in the ready list
  std::atomic<AgentRole> role{AgentRole::normal};
  std::uint8_t depth = 0;
  std::atomic<bool> auto_resume{false};

  // Second line: the loop thread's, but for `name` and `taken`.
  alignas(64) std::shared_ptr<const AgentSpec> spec;
  std::unique_ptr<AgentData> data;
  std::atomic<const std::string*> name{nullptr};  // null: generated id. Read under the name table's lock.
  std::atomic<std::uint32_t> taken{0};            // messages that ever left the mailbox; the loop writes
  std::uint32_t backlog = 0;            // messages taken out of the door, oldest first: cell index + 1
  std::uint32_t unsettled = 0;          // children that a walk has passed and that are not settled yet
  std::uint32_t flights = 0;            // model calls, tool calls and tasks that have not let go
  std::uint32_t turns = 0;              // begun so far
  AgentState shown = AgentState::idle;  // the state last told to observers
  StopCause cause = StopCause::user;    // of the stop that is settling it
  bool walked = false;                  // a settling walk has passed it and waits for it
  bool delete_walked = false;           // that walk was a delete's: what lies below is being deleted, too
  bool counted = false;                 // it is in its parent's `unsettled`
  bool by_parent = false;               // stopped because an ancestor was
  bool has_job = false;                 // a job has it as its root
  bool deleting = false;                // its delete has come to the loop
  bool direct = false;                  // a verb of its own closed it, not only one of an ancestor
  bool abandoned = false;               // a call was given up since the stop
  bool late = false;                    // the grace period of its stop or delete is over

  Word load(std::memory_order order = std::memory_order_acquire) const noexcept {
    return Word{word.load(order)};
  }
  NodeId id() const noexcept { return make_id(index, load(std::memory_order_relaxed).generation()); }
  bool is_trunk() const noexcept { return parent.load(std::memory_order_relaxed) == nullptr; }

  // Replaces `expected` by `desired`; on failure `expected` becomes what is there.
  bool replace(Word& expected, Word desired) noexcept {
    std::uint64_t raw = expected.raw();
    const bool done = word.compare_exchange_strong(raw, desired.raw(), std::memory_order_seq_cst);
    if (!done) expected = Word{raw};
    return done;
  }
};
static_assert(sizeof(Node) == 128);

}  // namespace agentcore::core
