#include "tree/fork_origins.hpp"

#include "persist/recorder.hpp"
#include "turn/turn_data.hpp"

#include <algorithm>

namespace agentcore::detail::tree {

using core::Node;
using core::NodeId;

// No allocation: the entries of the forks are moved.
void ForkOrigins::remove(const core::AgentTable& table, const Node& node,
                         persist::Recorder* recorder) noexcept {
  if (forks_.empty()) return;
  const NodeId id = node.id();
  const auto* const data = static_cast<const turn::TurnData*>(node.data.get());
  const NodeId origin = data ? data->origin : 0;
  if (origin != 0) forks_.erase({origin, id});
  for (auto at = forks_.lower_bound({id, 0}); at != forks_.end() && at->first == id;) {
    auto entry = forks_.extract(at++);
    const NodeId fork = entry.value().second;
    if (Node* const moved = table.find(fork)) static_cast<turn::TurnData&>(*moved->data).origin = origin;
    if (recorder) recorder->note_change(fork);
    if (origin == 0) continue;
    entry.value().first = origin;
    forks_.insert(std::move(entry));
  }
}

std::vector<NodeId> ForkOrigins::of(const core::AgentTable& table, const Node& root) const {
  std::vector<NodeId> found{root.id()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const NodeId origin = found[i];
    for (auto at = forks_.lower_bound({origin, 0}); at != forks_.end() && at->first == origin; ++at)
      if (table.find(at->second)) found.push_back(at->second);
  }
  found.erase(found.begin());
  return found;
}

std::size_t ForkOrigins::count(const core::References& refers) const noexcept {
  return static_cast<std::size_t>(std::count_if(forks_.begin(), forks_.end(), [&](const auto& entry) {
    return refers(entry.first) || refers(entry.second);
  }));
}

}  // namespace agentcore::detail::tree
