#include "turn/call_pauses.hpp"

#include "core/agent_access.hpp"
#include "core/gates.hpp"
#include "turn/environment.hpp"

#include <cstddef>
#include <utility>

namespace agentcore::detail::turn {

std::shared_ptr<CallPauses::Call> CallPauses::make(Agent agent) {
  return std::make_shared<Call>(*this, std::move(agent));
}

std::shared_ptr<void> CallPauses::add(std::function<void()> callback) {
  std::erase_if(callbacks_, [](const auto& entry) { return entry.expired(); });
  auto added = std::make_shared<std::function<void()>>(std::move(callback));
  callbacks_.push_back(added);
  return added;
}

void CallPauses::tell_all() noexcept {
  // A callback that is added meanwhile has asked is_paused() itself.
  const std::size_t count = callbacks_.size();
  for (std::size_t i = 0; i < count && i < callbacks_.size() && !environment_.hub.closed(); ++i)
    if (const auto callback = callbacks_[i].lock())
      environment_.engine.guarded("PauseToken::on_change", *callback);
}

bool CallPauses::Call::is_paused() const noexcept {
  const core::AgentTable& table = pauses_.environment_.table;
  if (table.root_sentinel().load().closes_subtree()) return false;
  const core::NodeId id = core::AgentAccess::node(agent_);
  const core::Node* const node = table.find(id);
  return node && core::look(*node, core::generation_of(id)).paused;
}

std::shared_ptr<void> CallPauses::Call::on_change(std::function<void()> callback) {
  return pauses_.environment_.hub.closed() ? nullptr : pauses_.add(std::move(callback));
}

void CallPauses::Call::set_waiting(bool waiting) noexcept {
  Environment& environment = pauses_.environment_;
  Operation* const operation = environment.operations.find(id_);
  if (environment.hub.closed() || !operation) return;
  operation->waits = waiting;
  environment.listener.on_waiting(*operation->node);
}

}  // namespace agentcore::detail::turn
