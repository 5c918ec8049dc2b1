#include "turn/call_claims.hpp"

#include "core/gates.hpp"

#include <utility>

namespace agentcore::detail::turn {

// True if the agent of the call may act, for a call of a turn in the epoch of that turn.
bool CallClaims::may_act(const Entry& entry) noexcept {
  const std::uint32_t generation = core::generation_of(entry.agent);
  return entry.epoch ? core::admits_turn(*entry.node, generation, *entry.epoch)
                     : core::look(*entry.node, generation).open();
}

CallVerdict CallClaims::end(CallKey key, std::unique_ptr<CallEnding>& ending) noexcept {
  const core::Lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return {Errc::call_not_found};
  Entry& entry = found->second;
  // Read after the lock was taken: a verb that closed the gate before decides how the call ends.
  if (entry.over || !may_act(entry)) return {Errc::call_over};
  entry.over = true;
  entry.ending = std::move(ending);
  return {Errc::none, std::exchange(entry.stop, StopSource(std::nostopstate))};
}

void CallClaims::add(CallKey key, const core::Node& node, std::optional<std::uint32_t> epoch) {
  Entries made;
  Entry& entry = made[{key.agent, std::string(key.id)}];
  entry.node = &node;
  entry.agent = node.id();
  entry.epoch = epoch;
  const core::Lock lock(mutex_);
  entries_.merge(made);
}

void CallClaims::set_operation(CallKey key, core::OperationId operation, StopSource stop) noexcept {
  const core::Lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.over) return;
  found->second.operation = operation;
  found->second.stop.swap(stop);
}

bool CallClaims::claim(CallKey key) noexcept {
  StopSource unused{std::nostopstate};  // released after the lock
  const core::Lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || std::exchange(found->second.over, true)) return false;
  found->second.stop.swap(unused);
  return true;
}

bool CallClaims::is_over(CallKey key) const noexcept {
  const core::Lock lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() || found->second.over;
}

bool CallClaims::has_host_result(CallKey key) const noexcept {
  const core::Lock lock(mutex_);
  const auto found = entries_.find(key);
  return found != entries_.end() && found->second.ending && found->second.ending->by_host;
}

std::unique_ptr<CallEnding> CallClaims::take(CallKey key) noexcept {
  const core::Lock lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : std::move(found->second.ending);
}

core::OperationId CallClaims::operation_of(CallKey key) const noexcept {
  const core::Lock lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? core::OperationId{} : found->second.operation;
}

void CallClaims::remove(CallKey key) noexcept {
  Entries::node_type removed;  // destroyed after the lock
  const core::Lock lock(mutex_);
  if (const auto found = entries_.find(key); found != entries_.end()) removed = entries_.extract(found);
}

std::size_t CallClaims::count(const core::References& refers) const noexcept {
  const core::Lock lock(mutex_);
  std::size_t count = 0;
  for (const auto& [key, entry] : entries_) count += refers(entry.agent);
  return count;
}

std::size_t CallClaims::remove_turn(core::NodeId agent) noexcept {
  Entries removed;  // destroyed after the lock
  {
    const core::Lock lock(mutex_);
    auto at = entries_.lower_bound(CallKey{agent, {}});
    while (at != entries_.end() && at->first.agent == agent) removed.insert(entries_.extract(at++));
  }
  std::size_t dropped = 0;
  for (const auto& [key, entry] : removed) dropped += entry.ending && entry.ending->by_host;
  return dropped;
}

}  // namespace agentcore::detail::turn
