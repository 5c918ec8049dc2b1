#include "llm/active_requests.hpp"

#include <utility>

namespace agentcore::llm {

bool ActiveRequests::add(std::shared_ptr<OpenCall> call) {
  if (call->agent_id().empty()) return true;
  const std::lock_guard lock(mutex_);
  const std::string_view key = call->agent_id();
  return calls_.try_emplace(key, std::move(call)).second;
}

void ActiveRequests::remove(const OpenCall& call) noexcept {
  std::shared_ptr<OpenCall> removed;  // released after the lock
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(call.agent_id());
  if (found == calls_.end() || found->second.get() != &call) return;
  removed = std::move(found->second);
  calls_.erase(found);
}

bool ActiveRequests::abort(std::string_view agent_id) {
  std::shared_ptr<OpenCall> call;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(agent_id);
    if (found == calls_.end()) return false;
    call = std::move(found->second);
    calls_.erase(found);
  }
  return call->stop();
}

bool ActiveRequests::contains(std::string_view agent_id) const {
  const std::lock_guard lock(mutex_);
  return calls_.contains(agent_id);
}

bool OpenCall::stop() noexcept {
  if (stopped_.exchange(true, std::memory_order_acq_rel)) return false;
  cut();  // the wire first
  close();
  return true;
}

}  // namespace agentcore::llm
