#include "turn/call_index.hpp"

#include "core/gates.hpp"

#include <utility>

namespace agentcore::detail::turn {

// True if the agent of the call may act, for a call of a turn in the epoch of that turn.
bool CallIndex::may_act(const Call& call) noexcept {
  const std::uint32_t generation = core::generation_of(call.agent);
  return call.epoch ? core::admits_turn(call.node, generation, *call.epoch)
                    : core::look(call.node, generation).open();
}

CallVerdict CallIndex::end(CallKey key, std::unique_ptr<CallEnding>& ending) noexcept {
  const core::Lock lock(mutex_);
  const auto found = calls_.find(key);
  if (found == calls_.end()) return {Errc::call_not_found};
  Call& call = **found;
  // Read after the lock was taken: a verb that closed the gate before decides how the call ends.
  if (call.over_ || !may_act(call)) return {Errc::call_over};
  call.over_ = true;
  call.left_ = std::move(ending);
  return {Errc::none, std::exchange(call.stop_, StopSource(std::nostopstate))};
}

void CallIndex::add(std::shared_ptr<Call> call) {
  Calls made;
  made.insert(std::move(call));
  const core::Lock lock(mutex_);
  calls_.merge(made);
}

void CallIndex::set_stop(Call& call, StopSource stop) noexcept {
  const core::Lock lock(mutex_);
  if (!call.over_) call.stop_.swap(stop);
}

bool CallIndex::claim(Call& call) noexcept {
  StopSource unused{std::nostopstate};  // released after the lock
  const core::Lock lock(mutex_);
  if (std::exchange(call.over_, true)) return false;
  call.stop_.swap(unused);
  return true;
}

bool CallIndex::is_over(const Call& call) const noexcept {
  const core::Lock lock(mutex_);
  return call.over_;
}

bool CallIndex::has_ending(const Call& call, bool by_host) const noexcept {
  const core::Lock lock(mutex_);
  return call.left_ && call.left_->by_host == by_host;
}

std::unique_ptr<CallEnding> CallIndex::take(Call& call) noexcept {
  const core::Lock lock(mutex_);
  return std::move(call.left_);
}

std::shared_ptr<Call> CallIndex::find(CallKey key) const noexcept {
  const auto found = calls_.find(key);
  return found == calls_.end() ? nullptr : *found;
}

void CallIndex::remove(Call& call) noexcept {
  Calls::node_type removed;  // destroyed after the lock
  StopSource unused{std::nostopstate};
  const core::Lock lock(mutex_);
  call.over_ = true;
  call.stop_.swap(unused);
  const auto found = calls_.find(call.shared_from_this());
  if (found != calls_.end()) removed = calls_.extract(found);
}

std::size_t CallIndex::remove_turn(core::NodeId agent) noexcept {
  Calls removed;  // destroyed after the lock
  {
    const core::Lock lock(mutex_);
    auto at = calls_.lower_bound(CallKey{agent, {}});
    while (at != calls_.end() && Less::key(*at).agent == agent) {
      (*at)->over_ = true;
      removed.insert(calls_.extract(at++));
    }
  }
  std::size_t dropped = 0;
  for (const std::shared_ptr<Call>& call : removed) {
    const std::unique_ptr<CallEnding> left = take(*call);
    dropped += left && left->by_host;
  }
  return dropped;
}

void CallIndex::release_tools() noexcept {
  for (const std::shared_ptr<Call>& call : calls_) call->release_tools();
}

std::size_t CallIndex::count(const core::References& refers) const noexcept {
  std::size_t count = 0;
  for (const std::shared_ptr<Call>& call : calls_) count += refers(call->agent);
  return count;
}

}  // namespace agentcore::detail::turn
