#include "mailbox/steer_box.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace agentcore::detail::mailbox {

void SteerBox::forget_if_unused(core::NodeId agent) noexcept {
  const auto found = agents_.find(agent);
  if (found != agents_.end() && found->second.messages.empty() && found->second.reasks == 0)
    agents_.erase(found);
  publish();
}

void SteerBox::drop(core::NodeId agent) noexcept {
  if (empty()) return;
  const core::Lock lock(mutex_);
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return;
  for (SteerEntry& entry : found->second.messages) entry.dropped = true;
  found->second.dropped = found->second.messages.size();
}

void SteerBox::drop(core::NodeId agent, MessageId message) noexcept {
  if (empty()) return;
  const core::Lock lock(mutex_);
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return;
  Waiting& waiting = found->second;
  const auto first = waiting.messages.begin() + static_cast<std::ptrdiff_t>(waiting.dropped);
  const auto entry =
      std::find_if(first, waiting.messages.end(), [&](const SteerEntry& one) { return one.id == message; });
  if (entry == waiting.messages.end()) return;
  entry->dropped = true;
  std::rotate(first, entry, entry + 1);
  ++waiting.dropped;
}

std::size_t SteerBox::count(core::NodeId agent) const noexcept {
  if (empty()) return 0;
  const core::Lock lock(mutex_);
  const auto found = agents_.find(agent);
  return found == agents_.end() ? 0 : found->second.count();
}

std::size_t SteerBox::count(const core::References& refers) const noexcept {
  const core::Lock lock(mutex_);
  std::size_t count = 0;
  for (const auto& [agent, waiting] : agents_)
    if (refers(agent)) count += 1 + waiting.messages.size();
  return count;
}

bool SteerBox::cuts(core::NodeId agent) const noexcept {
  if (empty()) return false;
  const core::Lock lock(mutex_);
  const auto found = agents_.find(agent);
  return found != agents_.end() && found->second.cuts;
}

std::uint32_t SteerBox::reasks(core::NodeId agent) const noexcept {
  if (empty()) return 0;
  const core::Lock lock(mutex_);
  const auto found = agents_.find(agent);
  return found == agents_.end() ? 0 : found->second.reasks;
}

std::vector<SteerEntry> SteerBox::waiting(core::NodeId agent) const {
  const core::Lock lock(mutex_);
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return {};
  const Waiting& waiting = found->second;
  return {waiting.messages.begin() + static_cast<std::ptrdiff_t>(waiting.dropped), waiting.messages.end()};
}

void SteerBox::count_reask(core::NodeId agent) {
  const core::Lock lock(mutex_);
  ++agents_[agent].reasks;
  publish();
}

std::uint32_t SteerBox::next(core::NodeId agent) noexcept {
  if (empty()) return 0;
  const core::Lock lock(mutex_);
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return 0;
  Waiting& waiting = found->second;
  if (waiting.count() != 0) return waiting.messages[waiting.dropped].cell;
  waiting.cuts = false;
  return 0;
}

void SteerBox::take(core::NodeId agent, std::uint32_t cell) noexcept {
  const core::Lock lock(mutex_);
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return;
  const std::vector<SteerEntry>& all = found->second.messages;
  const auto entry =
      std::find_if(all.begin(), all.end(), [cell](const SteerEntry& one) { return one.cell == cell; });
  if (entry != all.end())
    static_cast<void>(take_at(agent, found->second, static_cast<std::size_t>(entry - all.begin())));
}

SteerEntry SteerBox::take_dropped(core::NodeId agent) noexcept {
  if (empty()) return {};
  const core::Lock lock(mutex_);
  const auto found = agents_.find(agent);
  if (found == agents_.end() || found->second.dropped == 0) return {};
  return take_at(agent, found->second, 0);
}

SteerEntry SteerBox::take_at(core::NodeId agent, Waiting& waiting, std::size_t index) noexcept {
  const SteerEntry oldest = waiting.messages[index];
  waiting.messages.erase(waiting.messages.begin() + static_cast<std::ptrdiff_t>(index));
  if (oldest.dropped) --waiting.dropped;
  if (waiting.messages.empty()) waiting.cuts = false;
  forget_if_unused(agent);
  return oldest;
}

std::vector<SteerEntry> SteerBox::take_all(core::NodeId agent) noexcept {
  if (empty()) return {};
  const core::Lock lock(mutex_);
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return {};
  std::vector<SteerEntry> all = std::move(found->second.messages);
  agents_.erase(found);
  publish();
  return all;
}

void SteerBox::clear() noexcept {
  const core::Lock lock(mutex_);
  agents_.clear();
  publish();
}

}  // namespace agentcore::detail::mailbox
