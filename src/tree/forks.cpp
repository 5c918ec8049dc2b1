#include "tree/forks.hpp"

#include "tree/subtree_cursor.hpp"
#include "turn/turn_data.hpp"

#include <unordered_map>
#include <unordered_set>

namespace agentcore::detail::tree {

using core::Node;
using core::NodeId;

std::vector<NodeId> forks_of(const core::AgentTable& table, const Node& root) {
  std::unordered_multimap<NodeId, const Node*> by_origin;
  for (std::uint32_t slot = 0; slot < table.slots(); ++slot) {
    const Node& node = table.slot(slot);
    const auto* const data =
        node.load().is_free() ? nullptr : static_cast<const turn::TurnData*>(node.data.get());
    if (data && data->origin != 0) by_origin.emplace(data->origin, &node);
  }
  std::vector<NodeId> forks;
  if (by_origin.empty()) return forks;
  std::unordered_set<NodeId> seen;
  std::vector<const Node*> tops{&root};
  while (!tops.empty()) {
    const Node& top = *tops.back();
    tops.pop_back();
    if (&top != &root && !seen.contains(top.id())) forks.push_back(top.id());
    for (const Node* node = &top; node; node = next_parent_first(table, top, *node, true)) {
      if (!seen.insert(node->id()).second) continue;
      const auto [first, last] = by_origin.equal_range(node->id());
      for (auto fork = first; fork != last; ++fork) tops.push_back(fork->second);
    }
  }
  return forks;
}

}  // namespace agentcore::detail::tree
