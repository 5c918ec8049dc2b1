#include "events/event_hub.hpp"

namespace agentcore::events {

EventHub::EventHub(tree::TreeCore* core, Guard guard) : core_(core), guard_(std::move(guard)) {
}

Subscription EventHub::on_state_change(std::function<void(const StateChange&)> callback) {
  return closed_ ? Subscription{} : states_->add(std::move(callback));
}

Subscription EventHub::on_event(std::function<void(const Event&)> callback) {
  return closed_ ? Subscription{} : events_->add(std::move(callback));
}

void EventHub::state(core::Node& node, AgentState to, StopCause cause) {
  if (node.shown == to) return;
  if (!is_allowed(node.shown, to)) {
    // Verbs of other threads reach the loop in the order of their posting, which may differ from the order in
    // which they took effect. What is missing is the one state that joins the two.
    AgentState between = AgentState::idle;
    if (to == AgentState::stopped) between = AgentState::stopping;
    if (node.shown == AgentState::stopping) between = AgentState::stopped;
    tell_state(node, between, cause);
    if (closed_) return;
    if (!is_allowed(node.shown, to)) tell_state(node, AgentState::idle, cause);
    if (closed_) return;
  }
  tell_state(node, to, cause);
}

void EventHub::tell_state(core::Node& node, AgentState to, StopCause cause) {
  const AgentState from = std::exchange(node.shown, to);
  const std::uint64_t sequence = ++sequence_;
  if (!wants_states()) return;
  {
    const StateChange change{core::AgentAccess::borrow(core_, node.id()), from, to, cause, sequence};
    const core::Forgetting forgetting(change.agent);
    if (telling_)
      later_.push_back({change, {}});
    else
      deliver(change);
  }
  if (!telling_ && !later_.empty()) deliver_later();
}

void EventHub::defer(const Event& event) {
  Later& later = later_.emplace_back(Later{event, {}});
  if (const auto* delta = event.get<DeltaReceived>()) later.text = delta->text;
  if (const auto* ended = event.get<TurnEnded>()) later.text = ended->text;
}

void EventHub::deliver_later() {
  while (!closed_ && !later_.empty()) {
    Later later = std::move(later_.front());
    later_.pop_front();
    if (const auto* change = std::get_if<StateChange>(&later.what)) {
      deliver(*change);
      continue;
    }
    Event& event = std::get<Event>(later.what);
    if (auto* delta = std::get_if<DeltaReceived>(&event.body)) delta->text = later.text;
    if (auto* ended = std::get_if<TurnEnded>(&event.body)) ended->text = later.text;
    deliver(event);
  }
}

void EventHub::settled(const core::Node& node, AgentState end, std::size_t messages_dropped) {
  tell(node, [&](Agent agent) {
    return Settled{std::move(agent), end, node.cause, messages_dropped, node.abandoned};
  });
}

void EventHub::close() {
  closed_ = true;
  later_.clear();
  states_->clear();
  events_->clear();
}

}  // namespace agentcore::events
