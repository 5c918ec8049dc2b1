#include "llm/active_calls.hpp"

#include <string>
#include <utility>

namespace agentcore::detail::llm {

std::optional<Registration> ActiveCalls::add(const CallerKey& caller, std::shared_ptr<core::Stoppable> call) {
  Registration registration;
  if (caller.agent_id.empty()) return registration;
  registration.calls_ = weak_from_this();
  registration.agent_id_ = caller.agent_id;
  registration.tree_ = caller.tree;
  registration.call_ = call.get();
  std::shared_ptr<core::Stoppable> stopped;  // released after the lock
  const core::Lock lock(mutex_);
  const auto [entry, is_new] = calls_.try_emplace(Key{registration.agent_id_, caller.tree}, call);
  if (!is_new && !entry->second->is_stopped()) {
    registration.call_ = nullptr;
    return std::nullopt;
  }
  if (!is_new) stopped = std::exchange(entry->second, std::move(call));
  return registration;
}

void ActiveCalls::remove(const CallerKey& caller, const core::Stoppable* call) noexcept {
  std::shared_ptr<core::Stoppable> removed;  // released after the lock
  const core::Lock lock(mutex_);
  const auto found = calls_.find(caller);
  if (found == calls_.end() || found->second.get() != call) return;
  removed = std::move(found->second);
  calls_.erase(found);
}

void ActiveCalls::replace(const CallerKey& caller, const core::Stoppable* call,
                          std::shared_ptr<core::Stoppable> by) noexcept {
  const core::Lock lock(mutex_);
  const auto found = calls_.find(caller);
  if (found != calls_.end() && found->second.get() == call) found->second.swap(by);
}

// Stops one call after the other, so that nothing is allocated: a stop must not fail for lack of memory. A
// call that had ended may have been replaced by its next attempt: it is looked for once more.
bool ActiveCalls::abort(std::string_view agent_id) noexcept {
  bool was_open = false;
  std::uint64_t tree = 0;
  std::shared_ptr<core::Stoppable> ended;
  while (std::shared_ptr<core::Stoppable> call = next_open(agent_id, tree)) {
    const bool stopped = call->stop();
    was_open = was_open || stopped;
    if (!stopped && call != ended)
      ended = std::move(call);
    else
      ++tree;
  }
  return was_open;
}

bool ActiveCalls::contains(std::string_view agent_id) const noexcept {
  std::uint64_t tree = 0;
  return next_open(agent_id, tree) != nullptr;
}

std::shared_ptr<core::Stoppable> ActiveCalls::next_open(std::string_view agent_id,
                                                        std::uint64_t& tree) const noexcept {
  const core::Lock lock(mutex_);
  for (auto at = calls_.lower_bound(CallerKey{agent_id, tree});
       at != calls_.end() && at->first.agent_id == agent_id; ++at) {
    if (at->second->is_stopped()) continue;
    tree = at->first.tree;
    return at->second;
  }
  return nullptr;
}

ChatError ActiveCalls::in_progress(std::string_view client) {
  return {Errc::request_in_progress, "this agent has a model call open in this " + std::string(client) +
                                         "; abort it or wait for its end"};
}

Registration& Registration::operator=(Registration&& other) noexcept {
  if (this == &other) return *this;
  reset();
  calls_ = std::move(other.calls_);
  agent_id_ = std::move(other.agent_id_);
  tree_ = other.tree_;
  call_ = std::exchange(other.call_, nullptr);
  return *this;
}

void Registration::move_to(std::shared_ptr<core::Stoppable> call) noexcept {
  if (call_ == nullptr) return;
  const core::Stoppable* const before = std::exchange(call_, call.get());
  if (const auto calls = calls_.lock()) calls->replace({agent_id_, tree_}, before, std::move(call));
}

void Registration::reset() noexcept {
  const core::Stoppable* const call = std::exchange(call_, nullptr);
  if (call == nullptr) return;
  if (const auto calls = calls_.lock()) calls->remove({agent_id_, tree_}, call);
}

}  // namespace agentcore::detail::llm
