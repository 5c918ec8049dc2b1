#include "console/events/agent_directory.hpp"

#include <utility>
#include <vector>

namespace agentcore::detail::console {

bool AgentPath::is_below(std::uint64_t root) const noexcept {
  for (const AgentPath* at = this; at != nullptr && at->serial >= root; at = at->parent.get())
    if (at->serial == root) return true;
  return false;
}

AgentEntry* AgentDirectory::find(const Agent& agent) noexcept {
  const auto found = by_agent_.find(agent);
  return found == by_agent_.end() ? nullptr : found->second;
}

AgentEntry* AgentDirectory::find(std::string_view id) noexcept {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

AgentEntry* AgentDirectory::enter(const Agent& agent, WallTime now) {
  if (AgentEntry* const known = find(agent)) return known;
  std::vector<Agent> missing{agent};  // the agent, its parent, ... up to one that is known
  const AgentEntry* above = nullptr;
  while (above == nullptr) {
    const Result<Agent> parent = missing.back().parent();
    if (!parent) break;
    above = find(*parent);
    if (above == nullptr) missing.push_back(*parent);
  }
  AgentEntry* entry = nullptr;
  for (; !missing.empty(); missing.pop_back()) {
    std::string id = missing.back().id();
    if (id.empty()) return nullptr;
    if (AgentEntry* const namesake = find(id)) erase(Agent(namesake->agent));  // it is deleted
    const std::uint64_t serial = ++last_serial_;
    entry = &entries_[serial];
    entry->agent = missing.back();
    entry->id = std::move(id);
    entry->path = std::make_shared<const AgentPath>(AgentPath{serial, above ? above->path : nullptr});
    if (above != nullptr) entry->parent_id = above->id;
    entry->depth = above ? above->depth + 1 : 0;
    entry->created = entry->active = now;
    const Result<std::size_t> waiting = entry->agent.queue_length();
    entry->queue_length = waiting ? *waiting : 0;
    by_agent_.emplace(entry->agent, entry);
    by_id_.emplace(entry->id, entry);
    above = entry;
  }
  return entry;
}

void AgentDirectory::erase(const Agent& agent) noexcept {
  const auto found = by_agent_.find(agent);
  if (found == by_agent_.end()) return;
  AgentEntry& entry = *found->second;
  by_agent_.erase(found);
  if (const auto named = by_id_.find(entry.id); named != by_id_.end() && named->second == &entry)
    by_id_.erase(named);
  entries_.erase(entry.serial());
}

void AgentDirectory::clear() noexcept {
  by_agent_.clear();
  by_id_.clear();
  entries_.clear();
}

}  // namespace agentcore::detail::console
