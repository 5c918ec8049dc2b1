// Events: what an AgentTree reports to the callbacks of on() and on_event(). The order of events, and what a
// callback may do: see Event. The kinds of events: agent_events.hpp, turn_events.hpp, tool_events.hpp,
// store_events.hpp.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/agent_events.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/store_events.hpp>
#include <agentcore/tool_events.hpp>
#include <agentcore/turn_events.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace agentcore {

/// The data of an event: one type for each kind of event.
using EventBody =
    std::variant<AgentCreated, TurnStarted, DeltaReceived, TurnEnded, Settled, Discarded, AgentDeleted,
                 ToolStarted, ToolProgress, ToolEnded, QuestionAsked, QuestionClosed, TaskChanged, Abandoned,
                 ReasoningReceived, StateChanged, ToolRefused, ModelCallEnded, MessageDropped, QueueHeld,
                 Steered, WindowClosed, PauseChanged, PauseSettled, StopPending, ConversationChanged,
                 CompactionChanged, AgentRestored, StopPersisted, MessagePersisted, ContextTrimmed>;

/// The type of an event: one of the types of EventBody.
template <typename T>
concept EventType = requires(const EventBody* body) {
  std::get_if<T>(body);
};

/// An event of an agent, for the callbacks of AgentTree::on_event() and Agent::on_event(). Events are
/// delivered on the loop thread; the library holds no lock meanwhile.
///
///     auto events = tree.on_event([](const agentcore::Event& event) {
///       if (auto* delta = event.get<agentcore::DeltaReceived>())
///         std::fwrite(delta->text.data(), 1, delta->text.size(), stdout);
///       else if (auto* end = event.get<agentcore::TurnEnded>())
///         std::printf("\n%s\n", to_string(end->result->outcome).data());
///     });
///
/// Order:
/// - The events of a tree are delivered in the order of their sequence numbers, which rise strictly; there
///   may be gaps. The callbacks for one event are called in the order in which they were registered, those of
///   the tree before those of the agent.
/// - The first event of an agent is AgentCreated, the last is AgentDeleted. Any number of turns is between
///   them. The turns of an agent do not overlap.
/// - Each TurnStarted is followed by exactly one TurnEnded, whether the turn is stopped or not. The events
///   DeltaReceived, ReasoningReceived, ModelCallEnded, CompactionChanged and ContextTrimmed come only between
///   the two events of their turn.
///   Nothing of a turn follows its end (G7).
/// - Each accepted message has exactly one end: the TurnEnded of its turn, or one MessageDropped. A steered
///   message has exactly one Steered; if that says `queued`, an end follows.
/// - A stop or a delete of an agent brings exactly one Settled for the agent and for each agent below it,
///   children first. It follows the TurnEnded of the turn that was interrupted (G4).
/// - Each ToolStarted is followed by exactly one ToolEnded, both within their turn.
/// - Each QuestionAsked is followed by exactly one QuestionClosed, both within their turn, or within the
///   background task that asked.
/// - A background task starts within a turn. It may end at any time before its agent has settled.
///
/// A callback may do anything: call any verb for any agent, create agents, subscribe, unsubscribe, destroy
/// the tree or the Runtime. Exceptions of a callback are caught and logged; the other callbacks are called
/// nevertheless (G16).
///
/// Lifetime: an Event refers to its data, which is valid until the callback returns, and cannot be copied. A
/// host that keeps an event copies the body, `EventBody kept = event.body`, and what the body refers to, such
/// as DeltaReceived::text.
struct Event {
  /// An event with this number and data.
  Event(std::uint64_t number, const EventBody& data) noexcept : sequence(number), body(data) {}
  Event(std::uint64_t number, const EventBody&& data) = delete;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  std::uint64_t sequence;  ///< the sequence number
  const EventBody& body;   ///< the data

  /// The body if it is a T, otherwise null: `if (auto* delta = event.get<DeltaReceived>()) ...`. The pointer
  /// is valid as long as the body.
  template <typename T>
  const T* get() const noexcept {
    return std::get_if<T>(std::addressof(body));
  }
  /// The agent of the event, for every kind of body.
  AGENTCORE_API const Agent& agent() const noexcept;
};

namespace detail {

inline constexpr EventKinds all_event_kinds = ~EventKinds{0};

template <typename T, typename... Types>
consteval EventKinds kind_of(const std::variant<Types...>* /*type only*/) {
  static_assert(sizeof...(Types) <= std::numeric_limits<EventKinds>::digits,
                "each type of event has a bit of its own: give EventKinds more bits");
  EventKinds bit = 1, kind = 0;
  ((kind |= std::is_same_v<T, Types> ? bit : 0, bit <<= 1), ...);
  return kind;
}
template <EventType T>
inline constexpr EventKinds event_kind = kind_of<T>(static_cast<const EventBody*>(nullptr));

/// Internal: a callback for all events that calls `callback` for those of type T; empty if `callback` is.
template <EventType T>
std::function<void(const Event&)> only(std::function<void(const T&)> callback) {
  if (!callback) return {};
  return [callback = std::move(callback)](const Event& event) { callback(*event.get<T>()); };
}

}  // namespace detail

template <typename T>
Subscription Agent::on(std::function<void(const T&)> callback) const {
  static_assert(EventType<T>, "T must be a type of event: one of the types of EventBody");
  return subscribe(detail::event_kind<T>, detail::only<T>(std::move(callback)));
}

}  // namespace agentcore
