#include "persist/stored_agents.hpp"

#include <new>
#include <utility>

namespace agentcore::detail::persist {

StoredAgent* StoredAgents::find(core::NodeId id) noexcept {
  const auto found = agents_.find(id);
  return found == agents_.end() ? nullptr : &found->second;
}

const StoredAgent* StoredAgents::find(core::NodeId id) const noexcept {
  const auto found = agents_.find(id);
  return found == agents_.end() ? nullptr : &found->second;
}

StoredAgent& StoredAgents::add(core::NodeId id) {
  StoredAgent& agent = agents_[id];
  agent.key = next_key_++;
  return agent;
}

void StoredAgents::set_stored(core::NodeId id) noexcept {
  StoredAgent* const agent = find(id);
  if (!agent) return;
  for (Intent& intent : agent->intents)
    if (intent.state == Intent::State::written) intent.state = Intent::State::stored;
  for (StoredMail& mail : agent->mail)
    if (mail.begin == StoredMail::Begin::written) mail.begin = StoredMail::Begin::stored;
}

void StoredAgents::note(core::NodeId id, StoredAgent& agent) noexcept {
  if (std::exchange(agent.is_noted, true)) return;
  try {
    changed_.push_back(id);
  } catch (const std::bad_alloc&) {
    lost_any_ = true;
  }
}

// All allocations come first: if this throws, nothing was noted.
void StoredAgents::note_each() {
  std::vector<core::NodeId> all;
  all.reserve(agents_.size());
  for (auto& [id, agent] : agents_) {
    all.push_back(id);
    agent.is_noted = agent.mail_changed = agent.grants_changed = true;
  }
  changed_ = std::move(all);
  lost_any_ = false;
}

}  // namespace agentcore::detail::persist
