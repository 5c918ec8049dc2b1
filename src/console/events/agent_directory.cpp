#include "console/events/agent_directory.hpp"

#include <utility>
#include <vector>

namespace agentcore::detail::console {

bool AgentPath::is_below(std::uint64_t root) const noexcept {
  for (const AgentPath* at = this; at != nullptr && at->serial >= root; at = at->parent.get())
    if (at->serial == root) return true;
  return false;
}

bool is_queue_held(const Agent& agent) {
  const Result<AgentStatus> status = agent.status();
  return status && status->queue_held;
}

std::optional<StopWhen> pending_stop_of(const Agent& agent) {
  const Result<AgentStatus> status = agent.status();
  const bool goes_on =
      status && status->state != AgentState::stopped && status->state != AgentState::terminating;
  return goes_on ? status->stop_pending : std::nullopt;
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
  if (agent == erased_) return nullptr;
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
    entry = &add(missing.back(), std::move(id), above, now);
    above = entry;
  }
  return entry;
}

// If it throws, nothing has changed.
AgentEntry& AgentDirectory::add(const Agent& agent, std::string id, const AgentEntry* above, WallTime now) {
  const std::uint64_t serial = ++last_serial_;
  AgentEntry made{.agent = agent, .id = std::move(id)};
  made.path = std::make_shared<const AgentPath>(AgentPath{serial, above ? above->path : nullptr});
  if (above != nullptr) made.parent_id = above->id;
  made.depth = above ? above->depth + 1 : 0;
  made.created = made.active = now;
  const Result<std::size_t> waiting = agent.queue_length();
  made.queue_length = waiting ? *waiting : 0;
  made.queue_held = is_queue_held(agent);
  made.stop_pending = pending_stop_of(agent);
  AgentEntry& entry = entries_.emplace(serial, std::move(made)).first->second;
  try {
    by_agent_.emplace(agent, &entry);
    by_id_.emplace(entry.id, &entry);
  } catch (...) {
    by_agent_.erase(agent);
    entries_.erase(serial);
    throw;
  }
  return entry;
}

void AgentDirectory::erase(const Agent& agent) noexcept {
  erased_ = agent;
  const auto found = by_agent_.find(agent);
  if (found == by_agent_.end()) return;
  AgentEntry& entry = *found->second;
  by_agent_.erase(found);
  if (const auto named = by_id_.find(entry.id); named != by_id_.end() && named->second == &entry)
    by_id_.erase(named);
  entries_.erase(entry.serial());
}

void AgentDirectory::erase_gone() noexcept {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const AgentEntry& entry = (at++)->second;
    if (!entry.agent.exists()) erase(Agent(entry.agent));
  }
}

void AgentDirectory::clear() noexcept {
  by_agent_.clear();
  by_id_.clear();
  entries_.clear();
  erased_ = {};
}

}  // namespace agentcore::detail::console
