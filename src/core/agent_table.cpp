#include "core/agent_table.hpp"

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
  node.depth = static_cast<std::uint8_t>(parent.depth + 1);
  node.prev_sibling = no_node;
  node.next_sibling = parent.first_child.load(std::memory_order_relaxed);
  if (node.next_sibling != no_node) slab_[node.next_sibling].prev_sibling = index;
  parent.first_child.store(index, std::memory_order_relaxed);
  node.parent.store(&parent, std::memory_order_release);
  // Generation 0 is never used, so that no id is 0.
  node.packed.store(PackedState{generation ? generation : 1, 0, Gate::open, AgentState::idle}.raw(),
                    std::memory_order_seq_cst);
  alive_.fetch_add(1, std::memory_order_relaxed);
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
    const std::lock_guard lock(erasing_);
    node.packed.store(node.load().freed().raw(), std::memory_order_seq_cst);
    node.extends.store(0, std::memory_order_relaxed);
  }
  node.spec.reset();
  node.data.reset();
  node.reported = AgentState::idle;
  node.settling = {};

  node.next_sibling = no_node;
  if (free_last_ == no_node)
    free_ = node.index;
  else
    slab_[free_last_].next_sibling = node.index;
  free_last_ = node.index;
  alive_.fetch_sub(1, std::memory_order_relaxed);
  ++erased_;
}

}  // namespace agentcore::detail::core
