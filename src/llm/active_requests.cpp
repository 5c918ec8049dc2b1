#include "llm/active_requests.hpp"

#include <utility>

namespace agentcore::llm {

bool ActiveRequests::add(std::shared_ptr<OpenCall> call) {
  if (call->agent_id().empty()) return true;
  const std::lock_guard lock(mutex_);
  const CallerKey key = call->caller();
  return calls_.try_emplace(key, std::move(call)).second;
}

void ActiveRequests::remove(const OpenCall& call) noexcept {
  std::shared_ptr<OpenCall> removed;  // released after the lock
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(call.caller());
  if (found == calls_.end() || found->second.get() != &call) return;
  removed = std::move(found->second);
  calls_.erase(found);
}

// One call after the other, so that nothing has to be allocated: a stop must not fail for want of memory.
bool ActiveRequests::abort(std::string_view agent_id) {
  bool stopped = false;
  std::uint64_t tree = 0;
  while (const std::shared_ptr<OpenCall> call = take(agent_id, tree)) {
    tree = call->caller().tree + 1;
    stopped = call->stop() || stopped;
  }
  return stopped;
}

std::shared_ptr<OpenCall> ActiveRequests::take(std::string_view agent_id, std::uint64_t first_tree) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.lower_bound({agent_id, first_tree});
  if (found == calls_.end() || found->first.agent_id != agent_id) return nullptr;
  std::shared_ptr<OpenCall> call = std::move(found->second);
  calls_.erase(found);  // its key lies in the call
  return call;
}

bool ActiveRequests::contains(std::string_view agent_id) const {
  const std::lock_guard lock(mutex_);
  const auto at = calls_.lower_bound({agent_id, 0});
  return at != calls_.end() && at->first.agent_id == agent_id;
}

bool OpenCall::stop() noexcept {
  if (stopped_.exchange(true, std::memory_order_acq_rel)) return false;
  cut();  // the wire first
  close();
  return true;
}

}  // namespace agentcore::llm
