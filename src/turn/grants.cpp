#include "turn/grants.hpp"

#include "tools/registry.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::turn {

bool Coverage::is_changed(std::string_view window, const ToolSpec& now) const noexcept {
  return window_id == window && tool == now.name &&
         (description != now.description || parameters != now.parameters || mode != now.mode);
}

std::optional<std::uint64_t> Grants::add(core::NodeId agent, GrantScope scope, Coverage covers) {
  std::vector<StoredGrant>& entries = by_agent_[agent];
  const bool exists = std::any_of(entries.begin(), entries.end(), [&](const StoredGrant& entry) {
    return entry.scope == scope && entry.covers == covers;
  });
  if (exists) return std::nullopt;
  try {
    entries.push_back({last_id_ + 1, scope, std::move(covers)});
  } catch (...) {
    if (entries.empty()) by_agent_.erase(agent);
    throw;
  }
  return ++last_id_;
}

bool Grants::covers(const core::Node& node, const Coverage& call) const noexcept {
  if (by_agent_.empty()) return false;
  for (const core::Node* at = &node; at; at = at->parent.load(std::memory_order_relaxed)) {
    const auto found = by_agent_.find(at->id());
    if (found == by_agent_.end()) continue;
    const bool covered =
        std::any_of(found->second.begin(), found->second.end(), [&](const StoredGrant& entry) {
          return (at == &node || entry.scope == GrantScope::subtree) && entry.covers == call;
        });
    if (covered) return true;
  }
  return false;
}

// Ends the grants for which ends(agent, grant). Returns how many.
template <typename Ends>
std::size_t Grants::erase_if(const Ends& ends) {
  std::size_t count = 0;
  for (auto& [agent, entries] : by_agent_)
    count += std::erase_if(entries, [&, of = agent](const StoredGrant& entry) { return ends(of, entry); });
  if (count != 0) std::erase_if(by_agent_, [](const auto& of_agent) { return of_agent.second.empty(); });
  return count;
}

bool Grants::end_changed(core::NodeId agent, std::string_view window_id, const ToolSpec& tool) noexcept {
  const auto found = by_agent_.find(agent);
  if (found == by_agent_.end()) return false;
  const std::size_t ended = std::erase_if(
      found->second, [&](const StoredGrant& entry) { return entry.covers.is_changed(window_id, tool); });
  if (found->second.empty()) by_agent_.erase(found);
  return ended != 0;
}

std::vector<core::NodeId> Grants::end_all_changed(const core::AgentTable& agents) {
  std::vector<std::uint64_t> ended;
  std::vector<core::NodeId> changed;
  for (const auto& [agent, entries] : by_agent_) {
    const core::Node* const node = agents.find(agent);
    if (!node || !node->spec) continue;
    const ToolRegistry::Impl& registry = tools::registry_of(node->spec->tools);
    const std::size_t before = ended.size();
    for (const StoredGrant& entry : entries) {
      const tools::Found now = registry.find(entry.covers.window_id, entry.covers.tool);
      if (now.entry.tool && entry.covers.is_changed(entry.covers.window_id, now.entry.tool->spec))
        ended.push_back(entry.id);
    }
    if (ended.size() != before) changed.push_back(agent);
  }
  for (const std::uint64_t id : ended) revoke(id);
  return changed;
}

bool Grants::revoke(std::uint64_t id) noexcept {
  return erase_if([id](core::NodeId, const StoredGrant& entry) { return entry.id == id; }) != 0;
}

core::NodeId Grants::agent_of(std::uint64_t id) const noexcept {
  for (const auto& [agent, entries] : by_agent_)
    for (const StoredGrant& entry : entries)
      if (entry.id == id) return agent;
  return 0;
}

const std::vector<StoredGrant>& Grants::of(core::NodeId agent) const noexcept {
  static const std::vector<StoredGrant> none;
  const auto found = by_agent_.find(agent);
  return found == by_agent_.end() ? none : found->second;
}

void Grants::restore(core::NodeId agent, std::vector<StoredGrant> grants) {
  if (grants.empty()) return;
  by_agent_[agent] = std::move(grants);
}

std::vector<Grant> Grants::list(const core::AgentTable& agents) const {
  std::vector<Grant> all;
  for (const auto& [agent, entries] : by_agent_) {
    const core::Node* const node = agents.find(agent);
    if (!node) continue;
    const std::string name = agents.names().name_of(*node, agent);
    for (const StoredGrant& entry : entries)
      all.push_back({entry.id, name, entry.scope, entry.covers.window_id, entry.covers.tool,
                     entry.covers.arguments, entry.covers.key});
  }
  std::sort(all.begin(), all.end(), [](const Grant& a, const Grant& b) { return a.id < b.id; });
  return all;
}

std::size_t Grants::count(const core::References& refers) const noexcept {
  std::size_t found = 0;
  for (const auto& [agent, entries] : by_agent_) found += refers(agent) ? entries.size() : 0;
  return found;
}

void Grants::forget_deleted(const core::AgentTable& agents) noexcept {
  std::erase_if(by_agent_, [&](const auto& of_agent) { return !agents.find(of_agent.first); });
}

}  // namespace agentcore::detail::turn
