#include "core/agent_table.hpp"

#include <algorithm>

namespace agentcore::detail::core {

AgentTable::AgentTable(std::uint64_t tree) : tree_(tree), names_(tree) {
  Node& sentinel = slab_[slab_.grow()];
  sentinel.packed.store(PackedState{1, 0, Gate::open, AgentState::idle}.raw(), std::memory_order_release);
}

Node& AgentTable::insert(Node& parent) {
  std::uint32_t index = free_;
  if (index == no_node) {
    index = slab_.grow();
    // Once per slot: threads that go up from a deleted agent still read it.
    slab_[index].index = index;
  } else {
    free_ = slab_[index].next_sibling;
    if (free_ == no_node) free_last_ = no_node;
  }
  Node& node = slab_[index];
  const std::uint32_t generation = node.load().generation();
  link(node, parent);
  node.packed.store(
      PackedState{std::max(generation, first_generation_), 0, Gate::open, AgentState::idle}.raw(),
      std::memory_order_seq_cst);
  return node;
}

void AgentTable::link(Node& node, Node& parent) noexcept {
  node.depth = static_cast<std::uint8_t>(parent.depth + 1);
  node.prev_sibling = no_node;
  node.next_sibling = parent.first_child.load(std::memory_order_relaxed);
  if (node.next_sibling != no_node) slab_[node.next_sibling].prev_sibling = node.index;
  parent.first_child.store(node.index, std::memory_order_relaxed);
  node.parent.store(&parent, std::memory_order_release);
  alive_.fetch_add(1, std::memory_order_relaxed);
}

void AgentTable::reserve(std::vector<NodeId> agents, std::uint32_t generation) {
  first_generation_ = generation;
  std::sort(agents.begin(), agents.end(), [](NodeId a, NodeId b) { return index_of(a) < index_of(b); });
  for (const NodeId id : agents)
    while (slab_.size() <= index_of(id)) {
      Node& node = slab_[slab_.grow()];
      node.index = slab_.size() - 1;
      if (node.index < index_of(id)) add_to_free(node);
    }
}

Node& AgentTable::insert_reserved(Node& parent, PackedState packed, NodeId id) {
  Node& node = slab_[index_of(id)];
  link(node, parent);
  node.packed.store(packed.raw(), std::memory_order_seq_cst);
  return node;
}

void AgentTable::erase(Node& node) {
  names_.remove(node);
  if (node.load().has_lease()) leases_.remove(node.id());
  Node& parent = *node.parent.load(std::memory_order_relaxed);
  if (node.prev_sibling != no_node)
    slab_[node.prev_sibling].next_sibling = node.next_sibling;
  else
    parent.first_child.store(node.next_sibling, std::memory_order_relaxed);
  if (node.next_sibling != no_node) slab_[node.next_sibling].prev_sibling = node.prev_sibling;

  {
    const Lock lock(erasing_);
    node.packed.store(node.load().freed().raw(), std::memory_order_seq_cst);
    node.extends.store(0, std::memory_order_relaxed);
  }
  node.spec.reset();
  node.data.reset();
  node.reported = AgentState::idle;
  node.settling = {};

  add_to_free(node);
  alive_.fetch_sub(1, std::memory_order_relaxed);
  ++erased_;
}

void AgentTable::add_to_free(Node& node) noexcept {
  node.next_sibling = no_node;
  if (free_last_ == no_node)
    free_ = node.index;
  else
    slab_[free_last_].next_sibling = node.index;
  free_last_ = node.index;
}

}  // namespace agentcore::detail::core
