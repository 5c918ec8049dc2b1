#include "turn/call_pauses.hpp"

#include "core/agent_access.hpp"
#include "core/gates.hpp"
#include "turn/turn_context.hpp"

#include <utility>

namespace agentcore::detail::turn {

std::shared_ptr<CallPauses::Call> CallPauses::make(Agent agent) {
  return std::make_shared<Call>(*this, std::move(agent));
}

std::shared_ptr<void> CallPauses::add(std::function<void()> callback) {
  if (callbacks_.size() >= tidy_at_) {
    std::erase_if(callbacks_, [](const auto& entry) { return entry.second.expired(); });
    tidy_at_ = 2 * callbacks_.size() + 16;
  }
  auto added = std::make_shared<std::function<void()>>(std::move(callback));
  callbacks_.emplace(added_ + 1, added);
  ++added_;
  return added;
}

// A callback that is added after this has asked is_paused() itself.
void CallPauses::notify_all() noexcept {
  pass_.restart(added_);
}

bool CallPauses::run(loop::PollBudget& budget) {
  return pass_.run(budget, callbacks_, [this](const auto& entry) {
    if (const auto callback = entry.second.lock())
      context_.engine.guarded("PauseToken::on_change", *callback);
    if (context_.hub.closed()) pass_.cancel();
  });
}

bool CallPauses::Call::is_paused() const noexcept {
  const core::AgentTable& table = pauses_.context_.table;
  if (table.root_sentinel().load().closes_subtree()) return false;
  const core::NodeId id = core::AgentAccess::node(agent_);
  const core::Node* const node = table.find(id);
  return node && core::look(*node, core::generation_of(id)).paused;
}

std::shared_ptr<void> CallPauses::Call::on_change(std::function<void()> callback) {
  return pauses_.context_.hub.closed() ? nullptr : pauses_.add(std::move(callback));
}

void CallPauses::Call::set_waiting(bool waiting) noexcept {
  TurnContext& context = pauses_.context_;
  Operation* const operation = context.operations.find(id_);
  if (context.hub.closed() || !operation) return;
  operation->waits = waiting;
  context.listener.on_waiting(*operation->node);
}

}  // namespace agentcore::detail::turn
