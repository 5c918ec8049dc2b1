#include "events/event_hub.hpp"

namespace agentcore::events {
namespace {

// The member of a body that refers to a text which is valid during the callback only; null: the body has
// none. There is an overload for each body, so that a new body does not compile without one. (Abandoned::what
// and Discarded::what refer to literals.)
struct BorrowedText {
  using Place = std::string_view*;
  Place operator()(DeltaReceived& body) const noexcept { return &body.text; }
  Place operator()(ReasoningReceived& body) const noexcept { return &body.text; }
  Place operator()(TurnEnded& body) const noexcept { return &body.text; }
  Place operator()(AgentCreated&) const noexcept { return nullptr; }
  Place operator()(TurnStarted&) const noexcept { return nullptr; }
  Place operator()(Settled&) const noexcept { return nullptr; }
  Place operator()(Discarded&) const noexcept { return nullptr; }
  Place operator()(AgentDeleted&) const noexcept { return nullptr; }
  Place operator()(ToolStarted&) const noexcept { return nullptr; }
  Place operator()(ToolProgress&) const noexcept { return nullptr; }
  Place operator()(ToolEnded&) const noexcept { return nullptr; }
  Place operator()(QuestionAsked&) const noexcept { return nullptr; }
  Place operator()(QuestionClosed&) const noexcept { return nullptr; }
  Place operator()(TaskChanged&) const noexcept { return nullptr; }
  Place operator()(Abandoned&) const noexcept { return nullptr; }
};

}  // namespace

EventHub::EventHub(tree::TreeCore* core, Guard guard) : core_(core), guard_(std::move(guard)) {
}

Subscription EventHub::on_state_change(std::function<void(const StateChange&)> callback) {
  return closed_ ? Subscription{} : states_->add(std::move(callback));
}

Subscription EventHub::on_event(std::function<void(const Event&)> callback) {
  return closed_ ? Subscription{} : events_->add(std::move(callback));
}

void EventHub::state(core::Node& node, AgentState to, StopCause cause) noexcept {
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

void EventHub::tell_state(core::Node& node, AgentState to, StopCause cause) noexcept {
  const AgentState from = std::exchange(node.shown, to);
  const std::uint64_t sequence = ++sequence_;
  if (!wants_states()) return;
  {
    const StateChange change{core::AgentAccess::borrow(core_, node.id()), from, to, cause, sequence};
    const core::Forgetting forgetting(change.agent);
    if (telling_)
      contain([&] { later_.push_back({change, nullptr}); });
    else
      deliver(change);
  }
  if (!telling_ && !later_.empty()) deliver_later();
}

void EventHub::defer(const Event& event) {
  Later later{event, nullptr};
  if (std::string_view* const text = std::visit(BorrowedText(), std::get<Event>(later.what).body)) {
    later.text = std::make_unique<const std::string>(*text);
    *text = *later.text;
  }
  later_.push_back(std::move(later));
}

void EventHub::deliver_later() noexcept {
  while (!closed_ && !later_.empty()) {
    Later later = std::move(later_.front());
    later_.pop_front();
    if (const auto* change = std::get_if<StateChange>(&later.what))
      deliver(*change);
    else
      deliver(std::get<Event>(later.what));
  }
}

void EventHub::settled(const core::Node& node, AgentState end, std::size_t messages_dropped) noexcept {
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
