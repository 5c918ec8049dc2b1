#include "llm/active_requests.hpp"

#include <utility>
#include <vector>

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

bool ActiveRequests::abort(std::string_view agent_id) {
  std::vector<std::shared_ptr<OpenCall>> found;
  {
    const std::lock_guard lock(mutex_);
    auto at = calls_.lower_bound({agent_id, 0});
    while (at != calls_.end() && at->first.agent_id == agent_id) {
      found.push_back(at->second);  // before the entry goes: its key lies in the call
      at = calls_.erase(at);
    }
  }
  bool stopped = false;
  for (const auto& call : found) stopped = call->stop() || stopped;
  return stopped;
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
