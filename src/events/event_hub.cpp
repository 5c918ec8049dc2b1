#include "events/event_hub.hpp"

namespace agentcore::detail::events {
namespace {

// The kind of an event, as one bit.
static_assert(std::is_same_v<ObserverList<Event>::Kinds, detail::EventKinds>);

detail::EventKinds kind_of(const Event& event) noexcept {
  return detail::EventKinds{1} << detail::event_body(event).index();
}

void notify(EventHub& hub, ObserverList<Event>& observers, const Event& event, detail::EventKinds kind) {
  observers.notify(
      event, [&hub](auto&& call) { hub.guarded(call); }, kind);
}

inline void emit_change(EventHub& hub, core::Node& node, AgentState to, const Why& why) noexcept {
  const AgentState from = std::exchange(node.reported, to);
  hub.emit(node, [&](Agent agent) {
    return StateChanged{std::move(agent), from, to, why.cause, why.origin};
  });
}

// Verbs of other threads reach the loop in the order of their posting, which may differ from the order in
// which they took effect. Then one or two states are missing between the one last emitted and `to`.
void emit_between(EventHub& hub, core::Node& node, AgentState to, const Why& why) noexcept {
  AgentState between = AgentState::idle;
  if (to == AgentState::stopped) between = AgentState::stopping;
  if (node.reported == AgentState::stopping) between = AgentState::stopped;
  emit_change(hub, node, between, between == AgentState::idle ? Why() : why);
  if (hub.closed()) return;
  if (!is_allowed(node.reported, to)) emit_change(hub, node, AgentState::idle, Why());
}

}  // namespace

Subscription EventHub::subscribe(detail::EventKinds kinds, Callback callback) {
  return closed_ ? Subscription{} : of_tree_->add(std::move(callback), kinds);
}

Subscription EventHub::subscribe(core::NodeId agent, detail::EventKinds kinds, Callback callback) {
  if (closed_) return {};
  auto found = by_agent_.find(agent);
  if (found == by_agent_.end()) found = by_agent_.emplace(agent, std::make_shared<Observers>()).first;
  Subscription subscription = found->second->add(std::move(callback), kinds);
  of_agents_ |= kinds | detail::event_kind<AgentDeleted>;  // the latter removes the entry
  return subscription;
}

std::size_t EventHub::observers() const noexcept {
  std::size_t count = of_tree_->size();
  for (const auto& [agent, observers] : by_agent_) count += observers->size();
  return count;
}

std::size_t EventHub::count(const core::References& refers) const noexcept {
  std::size_t count = 0;
  for (const auto& [agent, observers] : by_agent_)
    if (refers(agent)) count += observers->size();
  for (const KeptEvent& deferred : deferred_) count += refers(core::AgentAccess::node(deferred.agent()));
  return count;
}

void EventHub::emit_state(core::Node& node, AgentState to, const Why& why) noexcept {
  if (node.reported == to) return;
  if (!is_allowed(node.reported, to)) [[unlikely]] {
    emit_between(*this, node, to, why);
    if (closed_) return;
  }
  emit_change(*this, node, to, why);
}

void EventHub::deliver(const Event& event, detail::EventKinds kind) {
  emitting_ = true;
  if ((of_tree_->kinds() & kind) != 0) notify(*this, *of_tree_, event, kind);
  if (!closed_ && (of_agents_ & kind) != 0) deliver_to_agent(event, kind);
  emitting_ = false;
}

void EventHub::deliver_to_agent(const Event& event, detail::EventKinds kind) {
  const core::NodeId agent = core::AgentAccess::node(event.agent());
  const auto found = by_agent_.find(agent);
  if (found == by_agent_.end()) return;
  const std::shared_ptr<Observers> observers = found->second;  // a callback may remove the entry
  notify(*this, *observers, event, kind);
  if (closed_ || (observers->size() != 0 && event.get<AgentDeleted>() == nullptr)) return;
  by_agent_.erase(agent);
  if (by_agent_.empty()) of_agents_ = 0;
}

void EventHub::deliver_deferred() noexcept {
  while (!closed_ && !deferred_.empty()) {
    const KeptEvent deferred = deferred_.front();
    deferred_.pop_front();
    const Event event = deferred.event();
    deliver(event, kind_of(event));
  }
}

void EventHub::emit_settled(const core::Node& node, AgentState end, const Why& why,
                            std::size_t messages_dropped) noexcept {
  emit(node, [&](Agent agent) {
    return Settled{std::move(agent), end, why.cause, messages_dropped, node.settling.has_abandoned,
                   why.origin};
  });
}

void EventHub::close() {
  closed_ = true;
  changes = nullptr;
  deferred_.clear();
  of_tree_->clear();
  for (auto& [agent, observers] : by_agent_) observers->clear();
  by_agent_.clear();
  of_agents_ = 0;
}

}  // namespace agentcore::detail::events
