// AgentTable: the slab of agents, their names, and the links between them.
#pragma once

#include "core/gates.hpp"
#include "core/name_table.hpp"
#include "core/node.hpp"
#include "core/slab.hpp"

#include <atomic>
#include <cstdint>
#include <string_view>

namespace agentcore::core {

// Slot 0 is the trunk: nobody's agent, the parent of all roots. Its gate is the tree's gate.
class AgentTable {
 public:
  // `tree` numbers the tables of a Runtime, from 1: see NameTable.
  explicit AgentTable(std::uint64_t tree = 1);
  std::uint64_t tree() const noexcept { return tree_; }

  Node& trunk() const noexcept { return slab_[0]; }
  const NameTable& names() const noexcept { return names_; }
  NameTable& names() noexcept { return names_; }
  std::uint32_t alive() const noexcept {
    return alive_.load(std::memory_order_relaxed);
  }  // without the trunk
  std::uint32_t slots() const noexcept { return slab_.size(); }
  Node& slot(std::uint32_t index) const noexcept { return slab_[index]; }

  // The node of a living agent, or null. What is found may die at once unless this is the loop thread.
  // @threadsafe
  Node* find(NodeId id) const noexcept {
    if (index_of(id) >= slab_.size() || id == 0) return nullptr;
    Node& node = slab_[index_of(id)];
    const Word word = node.load();
    return word.generation() == generation_of(id) && !word.is_free() ? &node : nullptr;
  }
  Node* find(std::string_view name) const noexcept {
    Node* node = find(names_.find(name));
    return node && !node->is_trunk() ? node : nullptr;
  }

  // A fresh agent below `parent`, idle and linked, with its mailbox closed. Only through the parent's gate:
  // the caller asks before and looks again afterwards (G2). @loop_thread
  Node& insert(Node& parent);
  // Unlinks an agent without children and gives its slot a new generation (G13). @loop_thread
  void erase(Node& node);

  Node* first_child(const Node& node) const noexcept {
    return at(node.first_child.load(std::memory_order_relaxed));
  }
  Node* next_sibling(const Node& node) const noexcept { return at(node.next_sibling); }

  // The agent whose action the loop is in; null between actions, `many` when actions of several agents nest.
  // The loop stores it before it asks for admission, a stopper reads it after it closed a gate, both
  // sequentially consistent: so one of the two sees the other (G1).
  std::atomic<const Node*> stepping{nullptr};
  const Node* many() const noexcept { return &trunk(); }

 private:
  Node* at(std::uint32_t index) const noexcept { return index == no_node ? nullptr : &slab_[index]; }

  const std::uint64_t tree_;
  Slab<Node> slab_;
  NameTable names_;
  std::uint32_t free_ = no_node;  // freed slots, oldest first, linked by next_sibling
  std::uint32_t free_last_ = no_node;
  std::atomic<std::uint32_t> alive_{0};
};

// Publishes for its lifetime that the loop is inside an action of `node`.
class Stepping {
 public:
  Stepping(AgentTable& table, const Node& node) noexcept
      : table_(table), before_(table.stepping.load(std::memory_order_relaxed)) {
    table_.stepping.store(before_ == nullptr || before_ == &node ? &node : table_.many(),
                          std::memory_order_seq_cst);
  }
  ~Stepping() { table_.stepping.store(before_, std::memory_order_release); }
  Stepping(const Stepping&) = delete;
  Stepping& operator=(const Stepping&) = delete;

 private:
  AgentTable& table_;
  const Node* before_;
};

}  // namespace agentcore::core
