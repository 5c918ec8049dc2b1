#include "events/event_hub.hpp"

#include "core/gates.hpp"

#include <utility>

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

bool is_open_and_idle(const core::Node& node) noexcept {
  const core::PackedState now = node.load();
  return now.state() == AgentState::idle && core::look(node, now.generation()).open();
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
  porch.for_each([&](const Entry& entry) { count += refers(entry.agent); });
  return count;
}

void EventHub::emit_state(core::Node& node, AgentState to, const Why& why) noexcept {
  emit_state(node, to, why, Asks::nothing, 0);
}

void EventHub::emit_idle(core::Node& node, Why why) noexcept {
  emit_state(node, AgentState::idle, why, Asks::idle, 0);
}

void EventHub::emit_state(core::Node& node, AgentState to, const Why& why, Asks asks,
                          std::uint32_t epoch) noexcept {
  const bool is_next = !porch.holds() || !porch.has_deliveries();
  if (is_next && node.reported == to) return;
  if (changes) [[unlikely]]
    changes->on_event(node, detail::event_kind<StateChanged>);
  if (!porch.holds() || (is_next && !wants_states())) {
    if (admits(node.id(), asks, epoch)) deliver_state(node, to, why);
    if (!porch.holds()) porch.deliver();
    return;
  }
  try {
    porch.append({.agent = node.id(), .what = HeldState{to, why}, .asks = asks, .epoch = epoch});
  } catch (...) {
    porch.note_lost();
  }
}

void EventHub::deliver(Entry entry) noexcept {
  if (closed_) return;
  if (auto* const event = std::get_if<HeldEvent>(&entry.what)) {
    if (admits(entry.agent, entry.asks, entry.epoch)) {
      const auto* const delta = std::get_if<DeltaReceived>(&event->body);
      if (delta && porch.listener) porch.listener->on_delivered_delta(entry.agent, entry.epoch, delta->text);
      return deliver_event(entry.agent, *event);
    }
    if (entry.call && porch.listener) porch.listener->on_refused_delta(entry.call);
  } else if (const auto* const state = std::get_if<HeldState>(&entry.what)) {
    core::Node* const node = table_.find(entry.agent);
    if (node && admits(entry.agent, entry.asks, entry.epoch)) deliver_state(*node, state->to, state->why);
  } else if (const auto* const record = std::get_if<HeldLog>(&entry.what)) {
    porch.deliver(*record);
  } else if (const auto* const call = std::get_if<HeldCall>(&entry.what)) {
    porch.deliver(*call);
  }
}

// A stopping thread that does not see the agent published finds the gates closed here (G1).
bool EventHub::admits(core::NodeId agent, Asks asks, std::uint32_t epoch) noexcept {
  if (asks == Asks::nothing) return true;
  const core::Node* const node = table_.find(agent);
  if (!node) return false;
  const core::ActiveAgentGuard active(table_, *node);
  if (asks == Asks::idle) return is_open_and_idle(*node);
  table_.leases().check(*node);
  return core::admits_turn(*node, core::generation_of(agent), epoch);
}

// Verbs of other threads reach the loop in the order of their posting, which may differ from the order in
// which they took effect. Then one or two states are missing between the one last delivered and `to`.
void EventHub::deliver_state(core::Node& node, AgentState to, const Why& why) noexcept {
  if (node.reported == to) return;
  if (!is_allowed(node.reported, to)) [[unlikely]] {
    change_between(node, to, why);
    if (closed_) return;
  }
  change_state(node, to, why);
}

void EventHub::change_state(core::Node& node, AgentState to, const Why& why) noexcept {
  const AgentState from = std::exchange(node.reported, to);
  if (!wants_states()) {
    ++sequence_;
    return;
  }
  emit_now(node.id(), [&](Agent agent) {
    return StateChanged{std::move(agent), from, to, why.cause, why.origin};
  });
}

void EventHub::change_between(core::Node& node, AgentState to, const Why& why) noexcept {
  AgentState between = AgentState::idle;
  if (to == AgentState::stopped) between = AgentState::stopping;
  if (node.reported == AgentState::stopping) between = AgentState::stopped;
  change_state(node, between, between == AgentState::idle ? Why() : why);
  if (closed_) return;
  if (!is_allowed(node.reported, to)) change_state(node, AgentState::idle, Why());
}

void EventHub::deliver_event(core::NodeId agent, HeldEvent& held) noexcept {
  std::visit(
      [&](auto& body) {
        if (agent != 0) core::AgentAccess::lend(body.agent, core_, agent);
      },
      held.body);
  const core::Forgetting forgetting(std::visit([](auto& body) -> Agent& { return body.agent; }, held.body));
  const Event event(++sequence_, held.body);
  notify_all(event, kind_of(event));
}

void EventHub::notify_all(const Event& event, detail::EventKinds kind) {
  const bool before = porch.set_calling(true);
  if ((of_tree_->kinds() & kind) != 0) notify(*this, *of_tree_, event, kind);
  if (!closed_ && (of_agents_ & kind) != 0) notify_agent(event, kind);
  porch.set_calling(before);
}

void EventHub::notify_agent(const Event& event, detail::EventKinds kind) {
  const core::NodeId agent = core::AgentAccess::node(event.agent());
  const auto found = by_agent_.find(agent);
  if (found == by_agent_.end()) return;
  const std::shared_ptr<Observers> observers = found->second;  // a callback may remove the entry
  notify(*this, *observers, event, kind);
  if (closed_ || (observers->size() != 0 && event.get<AgentDeleted>() == nullptr)) return;
  by_agent_.erase(agent);
  if (by_agent_.empty()) of_agents_ = 0;
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
  of_tree_->clear();
  for (auto& [agent, observers] : by_agent_) observers->clear();
  by_agent_.clear();
  of_agents_ = 0;
  porch.clear();  // last: the ends of callbacks may run the host's code
}

}  // namespace agentcore::detail::events
