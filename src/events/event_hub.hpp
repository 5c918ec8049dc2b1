// EventHub: numbers the events of a tree and calls its observers.
#pragma once

#include "core/agent_access.hpp"
#include "core/agent_table.hpp"
#include "core/mutex.hpp"
#include "core/node.hpp"
#include "core/references.hpp"
#include "events/change_listener.hpp"
#include "events/observer_list.hpp"
#include "events/outbox.hpp"
#include "events/porch.hpp"
#include "loop/engine.hpp"

#include <agentcore/event.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>

namespace agentcore::detail::events {

// The body of an event whose text is valid only while its step runs.
template <typename Body>
concept BorrowsText = requires(Body& body) {
  { (body.text) } -> std::same_as<std::string_view&>;
};

// All @loop_thread. Within a step (Porch::Step), and within a callback, events are put into the outbox of the
// porch. Otherwise they are delivered at once, and a callback may destroy the tree: check closed() before
// continuing.
class EventHub {
 public:
  using Callback = std::function<void(const Event&)>;

  // `core` is only put into handles. The engine runs the callbacks, so that no exception leaves them (G16).
  EventHub(tree::TreeCore* core, core::AgentTable& table, loop::Engine& engine)
      : porch(*this, engine), core_(core), table_(table), engine_(engine) {}

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
  // What waits for the end of a step or of a callback.
  Porch porch;

  // Emits the change of `node` to the state `to`, along the state table: where a foreign thread was faster
  // than the loop, the steps between are emitted too. Does nothing if that state was the last one emitted.
  void emit_state(core::Node& node, AgentState to, const Why& why) noexcept AGENTCORE_RUNS_HOST_CODE;
  // The same without a cause. Without an observer it only counts the event and keeps the state.
  void emit_state(core::Node& node, AgentState to) noexcept AGENTCORE_RUNS_HOST_CODE {
    if (!skip_state(node, to)) emit_state(node, to, Why());
  }
  // The same for a state of the turn of that epoch: not emitted if the gates do not admit that turn any more.
  void emit_working_state(core::Node& node, AgentState to,
                          std::uint32_t epoch) noexcept AGENTCORE_RUNS_HOST_CODE {
    if (!skip_state(node, to)) emit_state(node, to, Why(), Asks::turn, epoch);
  }
  // The same for `idle`: not emitted if the agent is not open and idle any more.
  void emit_idle(core::Node& node, Why why = {}) noexcept AGENTCORE_RUNS_HOST_CODE;

  // Emits an event about `node`: `make(agent)` builds its body around an empty handle, which it must move
  // into the body. It is called only if there are observers. If an event cannot be built or put in, because
  // an allocation fails, it is lost, and the loss is logged.
  template <typename Make>
  void emit(const core::Node& node, Make&& make) noexcept AGENTCORE_RUNS_HOST_CODE {
    constexpr detail::EventKinds kind = detail::event_kind<std::invoke_result_t<Make, Agent>>;
    if (changes) [[unlikely]]
      changes->on_event(node, kind);
    emit_for(node.id(), std::forward<Make>(make));
  }
  // The same by the id of the agent, which may be gone: its handle then refers to no agent. 0: an event
  // about the tree, with `Agent{}`. Not for the ChangeListener.
  template <typename Make>
  void emit_for(core::NodeId agent, Make&& make) noexcept AGENTCORE_RUNS_HOST_CODE {
    if (!wants(detail::event_kind<std::invoke_result_t<Make, Agent>>)) {
      ++sequence_;
      return;
    }
    if (porch.holds())
      hold({.agent = agent}, std::forward<Make>(make));
    else
      emit_now(agent, std::forward<Make>(make));
  }
  // The same for what arrives in the middle of an answer: not delivered if the gates do not admit the turn of
  // that epoch any more. If nothing follows in the step, and nothing is to be delivered before it, it is
  // delivered at once, and refers to the client's text.
  template <typename Make>
  void emit_delta(const core::Node& node, std::uint32_t epoch, core::OperationId call, bool ends_step,
                  Make&& make) noexcept AGENTCORE_RUNS_HOST_CODE {
    constexpr detail::EventKinds kind = detail::event_kind<std::invoke_result_t<Make, Agent>>;
    if (changes) [[unlikely]]
      changes->on_event(node, kind);
    if (!wants(kind)) {
      ++sequence_;
      return;
    }
    if (ends_step && porch.delivers_next())
      emit_now(node.id(), std::forward<Make>(make));
    else
      hold({.agent = node.id(), .asks = Asks::turn, .epoch = epoch, .call = call}, std::forward<Make>(make));
  }

  // The end of one agent's settling; there may be a million in a row.
  void emit_settled(const core::Node& node, AgentState end, const Why& why,
                    std::size_t messages_dropped) noexcept AGENTCORE_RUNS_HOST_CODE;

  // Delivers what was taken out of the outbox, unless what it asks is refused.
  void deliver(Entry entry) noexcept AGENTCORE_RUNS_HOST_CODE;

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
  // Callbacks registered (for leak tests).
  std::size_t observers() const noexcept;
  // Callbacks of these agents and of their messages, and events of theirs that are still to be delivered (for
  // leak tests).
  std::size_t count(const core::References& refers) const noexcept;

 private:
  using Observers = ObserverList<Event>;

  // True if nothing wants the change, and it follows from the state that was emitted last: then that is all.
  bool skip_state(core::Node& node, AgentState to) noexcept {
    if (changes || wants_states() || porch.has_deliveries() || !is_allowed(node.reported, to)) return false;
    ++sequence_;
    node.reported = to;
    return true;
  }

  // The handle in the body stays empty until the event is delivered.
  template <typename Make>
  void hold(Entry entry, Make&& make) noexcept {
    try {
      auto body = std::forward<Make>(make)(Agent());
      HeldEvent held;
      if constexpr (BorrowsText<decltype(body)>) {
        held.text = std::make_unique<const std::string>(body.text);
        body.text = *held.text;
      }
      held.body = std::move(body);
      entry.what = std::move(held);
      porch.append(std::move(entry));
    } catch (...) {
      porch.note_lost();
    }
  }

  // The handle in the body is empty until the event is built: the destructor of a borrowed handle would
  // release a reference that was never counted. After that, Forgetting empties it again, also when a callback
  // throws.
  template <typename Make>
  void emit_now(core::NodeId agent, Make&& make) noexcept AGENTCORE_RUNS_HOST_CODE {
    using Body = std::invoke_result_t<Make, Agent>;
    try {
      EventBody data(std::in_place_type<Body>, std::forward<Make>(make)(Agent()));
      Agent& handle = std::get_if<Body>(&data)->agent;
      if (agent != 0) core::AgentAccess::lend(handle, core_, agent);
      const core::Forgetting forgetting(handle);
      notify_all(Event(++sequence_, data), detail::event_kind<Body>);
    } catch (...) {
      porch.note_lost();
    }
    if (!porch.holds()) porch.deliver();  // what a callback has caused
  }

  void emit_state(core::Node& node, AgentState to, const Why& why, Asks asks,
                  std::uint32_t epoch) noexcept AGENTCORE_RUNS_HOST_CODE;
  void deliver_state(core::Node& node, AgentState to, const Why& why) noexcept AGENTCORE_RUNS_HOST_CODE;
  void change_state(core::Node& node, AgentState to, const Why& why) noexcept AGENTCORE_RUNS_HOST_CODE;
  void change_between(core::Node& node, AgentState to, const Why& why) noexcept AGENTCORE_RUNS_HOST_CODE;
  void deliver_event(core::NodeId agent, HeldEvent& held) noexcept AGENTCORE_RUNS_HOST_CODE;
  bool admits(core::NodeId agent, Asks asks, std::uint32_t epoch) noexcept;
  void notify_all(const Event& event, detail::EventKinds kind) AGENTCORE_RUNS_HOST_CODE;
  void notify_agent(const Event& event, detail::EventKinds kind) AGENTCORE_RUNS_HOST_CODE;

  tree::TreeCore* core_;
  core::AgentTable& table_;
  loop::Engine& engine_;
  std::shared_ptr<Observers> of_tree_ = std::make_shared<Observers>();
  // The observers of single agents. An entry is removed with its agent, or when an event finds it empty.
  std::unordered_map<core::NodeId, std::shared_ptr<Observers>> by_agent_;
  detail::EventKinds of_agents_ =
      0;  // the kinds that any of them wants or wanted; 0 again when the map is empty
  std::uint64_t sequence_ = 0;
  bool closed_ = false;
};

}  // namespace agentcore::detail::events
