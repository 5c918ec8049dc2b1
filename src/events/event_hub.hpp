// EventHub: numbers the events of a tree and calls its observers.
#pragma once

#include "core/agent_access.hpp"
#include "core/mutex.hpp"
#include "core/node.hpp"
#include "core/references.hpp"
#include "events/change_listener.hpp"
#include "events/observer_list.hpp"
#include "loop/engine.hpp"

#include <agentcore/event.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>

namespace agentcore::detail::events {

// Why the state of an agent changes.
struct Why {
  StopCause cause = StopCause::user;
  StopOrigin origin = {};
};

// All @loop_thread. A callback may destroy the tree: after a function here that emits an event, check
// closed() before continuing.
class EventHub {
 public:
  using Callback = std::function<void(const Event&)>;

  // `core` is only put into handles. The engine runs the callbacks, so that no exception leaves them (G16).
  EventHub(tree::TreeCore* core, loop::Engine& engine) : core_(core), engine_(engine) {}

  // Calls `callback` for the events of these kinds: of all agents, or of one that exists.
  Subscription subscribe(detail::EventKinds kinds, Callback callback);
  Subscription subscribe(core::NodeId agent, detail::EventKinds kinds, Callback callback);

  // True if an observer may receive an event of one of these kinds.
  bool wants(detail::EventKinds kinds) const noexcept {
    return ((of_tree_->kinds() | of_agents_) & kinds) != 0;
  }
  bool wants_states() const noexcept { return wants(detail::event_kind<StateChanged>); }

  // Called for every event, whether there are observers or not; null: none. @loop_thread
  ChangeListener* changes = nullptr;

  // Emits the change of `node` to the state `to`, along the state table: where a foreign thread was faster
  // than the loop, the steps between are emitted too. Does nothing if that state was the last one emitted.
  void emit_state(core::Node& node, AgentState to, const Why& why) noexcept AGENTCORE_RUNS_HOST_CODE;
  // The same without a cause. Without an observer it only counts the event and keeps the state.
  void emit_state(core::Node& node, AgentState to) noexcept AGENTCORE_RUNS_HOST_CODE {
    const bool is_observed = changes || wants_states();
    if (is_observed || !is_allowed(node.reported, to)) return emit_state(node, to, Why());
    ++sequence_;
    node.reported = to;
  }

  // Emits an event about `node`: `make(agent)` builds its body around an empty handle, which it must move
  // into the body. It is called only if there are observers. If an event cannot be built or deferred, because
  // an allocation fails, it is lost, and the loss is logged.
  template <typename Make>
  void emit(const core::Node& node, Make&& make) noexcept AGENTCORE_RUNS_HOST_CODE {
    constexpr detail::EventKinds kind = detail::event_kind<std::invoke_result_t<Make, Agent>>;
    if (changes) [[unlikely]]
      changes->on_event(node, kind);
    const std::uint64_t sequence = ++sequence_;
    if (wants(kind)) emit_wanted(sequence, node.id(), std::forward<Make>(make));
  }
  // The same by the id of the agent, which may be gone: its handle then refers to no agent. 0: an event
  // about the tree, with `Agent{}`. Not for the ChangeListener.
  template <typename Make>
  void emit_for(core::NodeId agent, Make&& make) noexcept AGENTCORE_RUNS_HOST_CODE {
    const std::uint64_t sequence = ++sequence_;
    if (wants(detail::event_kind<std::invoke_result_t<Make, Agent>>))
      emit_wanted(sequence, agent, std::forward<Make>(make));
  }

  // The end of one agent's settling; there may be a million in a row.
  void emit_settled(const core::Node& node, AgentState end, const Why& why,
                    std::size_t messages_dropped) noexcept AGENTCORE_RUNS_HOST_CODE;

  // Calls `function`; logs what it throws. Returns whether it returned.
  template <typename Function>
  bool guarded(Function&& function) noexcept AGENTCORE_RUNS_HOST_CODE {
    return engine_.guarded("observer", std::forward<Function>(function));
  }

  Agent handle(const core::Node& node) const noexcept { return core::AgentAccess::make(core_, node.id()); }
  core::BorrowedAgent borrow(const core::Node& node) const noexcept { return {core_, node.id()}; }

  // The end of the tree: no observer is called any more.
  void close() AGENTCORE_RUNS_HOST_CODE;
  bool closed() const noexcept { return closed_; }
  // True while a callback runs.
  bool emitting() const noexcept { return emitting_; }
  // Callbacks registered (for leak tests).
  std::size_t observers() const noexcept;
  // Callbacks of these agents and of their messages, and events of theirs that are still to be delivered (for
  // leak tests).
  std::size_t count(const core::References& refers) const noexcept;

 private:
  using Observers = ObserverList<Event>;
  template <typename Make>
  void emit_wanted(std::uint64_t sequence, core::NodeId agent,
                   Make&& make) noexcept AGENTCORE_RUNS_HOST_CODE {
    try {
      emit_body(sequence, agent, std::forward<Make>(make));
    } catch (...) {
      guarded([] { throw; });
    }
    if (!emitting_ && !deferred_.empty()) deliver_deferred();
  }

  // The handle in the body is empty until the event is built: the destructor of a borrowed handle would
  // release a reference that was never counted. After that, Forgetting empties it again, also when a callback
  // throws.
  template <typename Make>
  void emit_body(std::uint64_t sequence, core::NodeId agent, Make&& make) AGENTCORE_RUNS_HOST_CODE {
    using Body = std::invoke_result_t<Make, Agent>;
    EventBody data(std::in_place_type<Body>, std::forward<Make>(make)(Agent()));
    Agent& handle = std::get_if<Body>(&data)->agent;
    if (agent != 0) core::AgentAccess::lend(handle, core_, agent);
    const core::Forgetting forgetting(handle);
    const Event event(sequence, data);
    if (emitting_) [[unlikely]]
      deferred_.push_back(event.keep());
    else
      deliver(event, detail::event_kind<Body>);
  }

  void deliver(const Event& event, detail::EventKinds kind) AGENTCORE_RUNS_HOST_CODE;
  void deliver_to_agent(const Event& event, detail::EventKinds kind) AGENTCORE_RUNS_HOST_CODE;
  void deliver_deferred() noexcept AGENTCORE_RUNS_HOST_CODE;

  tree::TreeCore* core_;
  loop::Engine& engine_;
  std::shared_ptr<Observers> of_tree_ = std::make_shared<Observers>();
  // The observers of single agents. An entry is removed with its agent, or when an event finds it empty.
  std::unordered_map<core::NodeId, std::shared_ptr<Observers>> by_agent_;
  detail::EventKinds of_agents_ =
      0;  // the kinds that any of them wants or wanted; 0 again when the map is empty
  std::uint64_t sequence_ = 0;
  bool closed_ = false;
  bool emitting_ = false;
  // Events that a callback caused. They are delivered after all observers have received the event of that
  // callback, so that the sequence numbers are ascending for each of them.
  std::deque<KeptEvent> deferred_;
};

}  // namespace agentcore::detail::events
