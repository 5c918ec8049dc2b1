#include "turn/ended_turns.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::turn {

void EndedTurns::add(MessageId message, core::NodeId agent, std::uint64_t turn,
                     const std::shared_ptr<const TurnResult>& result) noexcept {
  if (entries_.empty()) return;
  Entry& entry = entries_[next_];
  entry.message = message;
  entry.agent = agent;
  entry.turn = turn;
  entry.result = result;
  next_ = next_ + 1 == entries_.size() ? 0 : next_ + 1;
}

const EndedTurns::Entry* EndedTurns::find(MessageId message) const noexcept {
  if (!message) return nullptr;
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [message](const Entry& entry) { return entry.message == message; });
  return found == entries_.end() ? nullptr : &*found;
}

std::size_t EndedTurns::count(const core::References& refers) const noexcept {
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(),
                                                [&](const Entry& entry) { return refers(entry.agent); }));
}

void EndedTurns::forget_deleted(const core::AgentTable& agents) noexcept {
  for (Entry& entry : entries_)
    if (entry.agent && !agents.find(entry.agent)) entry = {};
}

void EndedTurns::clear() noexcept {
  for (Entry& entry : entries_) entry = {};
}

}  // namespace agentcore::detail::turn
