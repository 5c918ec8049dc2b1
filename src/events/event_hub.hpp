// EventHub: numbers what happens in a tree and tells its observers.
#pragma once

#include "core/agent_access.hpp"
#include "core/node.hpp"
#include "events/observer_list.hpp"

#include <agentcore/event.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace agentcore::events {

// All @loop_thread. A callback may destroy the tree: after anything here that tells observers, ask closed()
// before going on.
class EventHub {
 public:
  // Runs a host's callback so that nothing that it throws gets out (G16).
  using Guard = std::function<void(const std::function<void()>&)>;

  // `core` is only put into handles.
  EventHub(tree::TreeCore* core, Guard guard);

  Subscription on_state_change(std::function<void(const StateChange&)> callback);
  Subscription on_event(std::function<void(const Event&)> callback);

  bool wants_states() const noexcept { return !states_->empty(); }
  bool wants_events() const noexcept { return !events_->empty(); }

  // Tells that `node` is now `to`, as the table of states has it: where a foreign thread was faster than the
  // loop, the steps in between are told too. Nothing if that was the last thing told.
  void state(core::Node& node, AgentState to, StopCause cause) noexcept;

  // Reports an event about `node`: `make(agent)` builds its body around an empty handle, which it must move
  // into the body. It is called only if there are observers. An event that cannot be built or deferred,
  // because an allocation fails, is lost, and this is logged.
  template <typename Make>
  void tell(const core::Node& node, Make&& make) noexcept {
    const std::uint64_t sequence = ++sequence_;
    if (!wants_events()) return;
    contain([&] { tell_body(sequence, node.id(), make(Agent())); });
    if (!telling_ && !later_.empty()) deliver_later();
  }

  // A settled agent, of which there may be a million in a row.
  void settled(const core::Node& node, AgentState end, std::size_t messages_dropped) noexcept;

  Agent handle(const core::Node& node) const noexcept { return core::AgentAccess::make(core_, node.id()); }
  core::BorrowedAgent borrow(const core::Node& node) const noexcept { return {core_, node.id()}; }

  // The end of the tree: no observer is called from now on.
  void close();
  bool closed() const noexcept { return closed_; }
  // A callback is running.
  bool telling() const noexcept { return telling_; }
  // Callbacks registered (for leak tests).
  std::size_t observers() const noexcept { return states_->size() + events_->size(); }

 private:
  // What a callback caused. It is delivered after all observers have received the event of that callback, so
  // that the sequence numbers rise for each of them.
  struct Later {
    std::variant<Event, StateChange> what;
    std::unique_ptr<const std::string> text;  // what the body's text refers to; null: the body has none
  };

  // The handle in the body is empty until the event is built: the destructor of a borrowed handle would
  // release a reference that was never counted. From then on Forgetting makes it empty again, whatever
  // throws.
  template <typename Body>
  void tell_body(std::uint64_t sequence, core::NodeId agent, Body&& body) {
    Event event{sequence, std::forward<Body>(body)};
    core::AgentAccess::lend(event.agent(), core_, agent);
    const core::Forgetting forgetting(event.agent());
    if (telling_)
      defer(event);
    else
      deliver(event);
  }

  // An exception of `tell` is logged like one of an observer.
  template <typename Tell>
  void contain(Tell&& tell) noexcept {
    try {
      std::forward<Tell>(tell)();
    } catch (...) {
      guard_([] { throw; });
    }
  }

  void tell_state(core::Node& node, AgentState to, StopCause cause) noexcept;
  void deliver(const Event& event) { notify(*events_, event); }
  void deliver(const StateChange& change) { notify(*states_, change); }
  void defer(const Event& event);
  void deliver_later() noexcept;

  template <typename Argument>
  void notify(ObserverList<Argument>& list, const Argument& argument) {
    telling_ = true;
    list.notify(argument, guard_);
    telling_ = false;
  }

  tree::TreeCore* core_;
  Guard guard_;
  std::shared_ptr<ObserverList<StateChange>> states_ = std::make_shared<ObserverList<StateChange>>();
  std::shared_ptr<ObserverList<Event>> events_ = std::make_shared<ObserverList<Event>>();
  std::uint64_t sequence_ = 0;
  bool closed_ = false;
  bool telling_ = false;
  std::deque<Later> later_;
};

}  // namespace agentcore::events
