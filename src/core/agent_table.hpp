// AgentTable: the slab of agents, their names and leases, and the links between them.
#pragma once

#include "core/atomic.hpp"
#include "core/gates.hpp"
#include "core/leases.hpp"
#include "core/mutex.hpp"
#include "core/name_table.hpp"
#include "core/node.hpp"
#include "core/slab.hpp"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::core {

// Slot 0 is the root sentinel: not an agent, but the parent of all roots. Its gate is the gate of the tree:
// closed with Gate::terminate, it refuses every admission in the tree permanently.
class AgentTable {
 public:
  // `tree` numbers the tables of a Runtime, from 1: see NameTable.
  explicit AgentTable(std::uint64_t tree = 1);
  std::uint64_t tree() const noexcept { return tree_; }

  Node& root_sentinel() const noexcept { return slab_[0]; }
  const NameTable& names() const noexcept { return names_; }
  NameTable& names() noexcept { return names_; }
  Leases& leases() noexcept { return leases_; }
  const Leases& leases() const noexcept { return leases_; }
  // Agents, without the root sentinel.
  std::uint32_t alive() const noexcept { return alive_.load(std::memory_order_relaxed); }
  // How many agents were erased so far. @loop_thread
  std::uint64_t erased() const noexcept { return erased_; }
  std::uint32_t slots() const noexcept { return slab_.size(); }
  Node& slot(std::uint32_t index) const noexcept { return slab_[index]; }

  // The node of a living agent, or null. For other threads than the loop thread the agent may be deleted at
  // any time. @threadsafe
  Node* find(NodeId id) const noexcept {
    if (index_of(id) >= slab_.size() || id == 0) return nullptr;
    Node& node = slab_[index_of(id)];
    const PackedState packed = node.load();
    return packed.generation() == generation_of(id) && !packed.is_free() ? &node : nullptr;
  }
  Node* find(std::string_view name) const noexcept {
    Node* node = find(names_.find(name));
    return node && !node->is_root_sentinel() ? node : nullptr;
  }

  // Creates an agent below `parent`, idle and linked, with its mailbox closed. Only through the parent's
  // gate: the caller checks it before and again afterwards (G2). @loop_thread
  Node& insert(Node& parent);
  // Before the table has agents: makes the slots of these agents of an earlier run, no two of which may be of
  // one slot. All other agents get `generation` or a later one. Throws std::bad_alloc. @loop_thread
  void reserve(std::vector<NodeId> agents, std::uint32_t generation);
  // The same as insert(), for an agent whose slot was reserved. `packed` is what other threads find.
  // @loop_thread
  Node& insert_reserved(Node& parent, PackedState packed, NodeId id);
  // Unlinks an agent without children and gives its slot a new generation (G13). @loop_thread
  void erase(Node& node);
  // An agent that was found alive under this mutex is not erased before the mutex is released. For verbs that
  // write parts of a node beside its packed state: a compare-and-set of the packed state fails on a slot that
  // was used again, a write of another part would not. To be held for a bounded time, and never while code of
  // the host runs. @threadsafe
  Mutex& erasing() noexcept AGENTCORE_LOCK_MARK(lock_returned(erasing_)) { return erasing_; }

  Node* first_child(const Node& node) const noexcept {
    return at(node.first_child.load(std::memory_order_relaxed));
  }
  Node* next_sibling(const Node& node) const noexcept { return at(node.next_sibling); }

  // The agent whose action the loop thread runs, or the last one of a round of steps; null between rounds,
  // `several_agents()` when actions of several agents nest. The loop stores it before it reads the gates, a
  // stopper reads it after it closed a gate, both sequentially consistent: so at least one of the two reads
  // the other's write (G1).
  Atomic<const Node*> active_agent{nullptr};
  const Node* several_agents() const noexcept { return &root_sentinel(); }

 private:
  void link(Node& node, Node& parent) noexcept;
  void add_to_free(Node& node) noexcept;
  Node* at(std::uint32_t index) const noexcept { return index == no_node ? nullptr : &slab_[index]; }

  const std::uint64_t tree_;
  Slab<Node> slab_;
  NameTable names_;
  Leases leases_;
  std::uint32_t free_ = no_node;  // freed slots, oldest first, linked by next_sibling
  std::uint32_t free_last_ = no_node;
  std::uint32_t first_generation_ = 1;  // no new agent has a smaller one; not 0, so that no id is 0
  std::uint64_t erased_ = 0;
  Mutex erasing_{LockRank::erasing};  // see erasing()
  Atomic<std::uint32_t> alive_{0};
};

// Publishes, during its lifetime, that the loop thread runs an action of an agent.
class ActiveAgentGuard {
 public:
  // Publishes nothing before set().
  explicit ActiveAgentGuard(AgentTable& table) noexcept
      : table_(table), before_(table.active_agent.load(std::memory_order_relaxed)) {}
  ActiveAgentGuard(AgentTable& table, const Node& node) noexcept : ActiveAgentGuard(table) { set(node); }
  // Publishes `node`, whose action follows the last one. For the same agent there is nothing to write.
  void set(const Node& node) noexcept {
    if (std::exchange(node_, &node) == &node) return;
    table_.active_agent.store(before_ == nullptr || before_ == &node ? &node : table_.several_agents(),
                              std::memory_order_seq_cst);
  }
  ~ActiveAgentGuard() { table_.active_agent.store(before_, std::memory_order_release); }
  ActiveAgentGuard(const ActiveAgentGuard&) = delete;
  ActiveAgentGuard& operator=(const ActiveAgentGuard&) = delete;

 private:
  AgentTable& table_;
  const Node* before_;
  const Node* node_ = nullptr;
};

}  // namespace agentcore::detail::core
