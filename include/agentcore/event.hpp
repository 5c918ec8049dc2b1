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

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace agentcore {

namespace detail {

// Internal: the data of an event, one type for each kind. Hosts read it by Event::get() and Event::visit(),
// which compile as before when a kind is added.
using EventBody =
    std::variant<AgentCreated, TurnStarted, DeltaReceived, TurnEnded, Settled, Discarded, AgentDeleted,
                 ToolStarted, ToolProgress, ToolEnded, QuestionAsked, QuestionClosed, TaskChanged, Abandoned,
                 ReasoningReceived, StateChanged, ToolRefused, ModelCallEnded, MessageDropped, QueueHeld,
                 Steered, WindowClosed, PauseChanged, PauseSettled, StopPending, ConversationChanged,
                 CompactionChanged, AgentRestored, StopPersisted, MessagePersisted, ContextTrimmed>;

template <typename T, typename... Types>
consteval bool is_one_of(const std::variant<Types...>* /*type only*/) {
  return (std::is_same_v<T, Types> || ...);
}

const EventBody& event_body(const Event& event) noexcept;

}  // namespace detail

/// The type of an event, such as TurnEnded: one of those in agent_events.hpp, turn_events.hpp,
/// tool_events.hpp and store_events.hpp. A later version may have more of them.
template <typename T>
concept EventType = detail::is_one_of<T>(static_cast<const detail::EventBody*>(nullptr));

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
/// host that needs an event longer keeps it: keep().
struct Event {
  /// Internal: an event with this number and data.
  Event(std::uint64_t number, const detail::EventBody& data) noexcept : sequence(number), body_(data) {}
  Event(std::uint64_t number, const detail::EventBody&& data) = delete;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  std::uint64_t sequence;  ///< the sequence number

  /// The data of the event if it is a T, otherwise null:
  /// `if (auto* delta = event.get<DeltaReceived>()) ...`. The pointer is valid as long as the data.
  template <EventType T>
  const T* get() const noexcept {
    return std::get_if<T>(std::addressof(body_));
  }
  /// The agent of the event, for every type of event.
  AGENTCORE_API const Agent& agent() const noexcept;

  /// Calls the callback for the type of the event, and does nothing if there is none: so a program compiles
  /// and runs as before when a later version has more types of events.
  ///
  ///     event.visit(
  ///         [](const agentcore::DeltaReceived& delta) {
  ///           std::fwrite(delta.text.data(), 1, delta.text.size(), stdout);
  ///         },
  ///         [](const agentcore::TurnEnded& end) {
  ///           std::printf("\n%s\n", to_string(end.result->outcome).data());
  ///         },
  ///         [](const agentcore::Event& other) {  // all others; may be left out
  ///           std::printf("event %llu\n", static_cast<unsigned long long>(other.sequence));
  ///         });
  ///
  /// A callback takes `const T&`, where T is a type of event. The types must be different, and must be the
  /// very types of the events: nothing is converted. One callback may be the fallback for all other types: it
  /// takes `const Event&`, or is a generic lambda or an object with several call operators, which is called
  /// with the `const T&` of those types that it accepts. Anything else does not compile. Results are ignored,
  /// exceptions are passed on. The order of the callbacks has no meaning.
  template <typename... Callbacks>
  void visit(Callbacks&&... callbacks) const;

  /// Returns a copy that may be kept: it owns all that it refers to. Throws std::bad_alloc.
  ///
  ///     std::vector<agentcore::KeptEvent> kept;
  ///     auto events = tree.on_event([&](const agentcore::Event& event) { kept.push_back(event.keep()); });
  KeptEvent keep() const;

 private:
  friend const detail::EventBody& detail::event_body(const Event& event) noexcept;

  const detail::EventBody& body_;
};

/// A copy of an event that may be kept, from Event::keep(). It owns what the event refers to, such as
/// DeltaReceived::text. Copies share the data, which does not change, so a copy costs as much as that of a
/// std::shared_ptr. There is no empty KeptEvent: a move copies.
///
///     agentcore::KeptEvent kept = event.keep();
///     // later, on any thread:
///     if (auto* end = kept.get<agentcore::TurnEnded>()) std::puts(end->result->text.c_str());
///
/// Threads: any thread may read, copy and destroy kept events. Two threads must not write the same one at
/// once.
class KeptEvent {
 public:
  /// Keeps `event`, as Event::keep(). Throws std::bad_alloc.
  AGENTCORE_API explicit KeptEvent(const Event& event);
  KeptEvent(const KeptEvent&) = default;
  KeptEvent& operator=(const KeptEvent&) = default;
  ~KeptEvent() = default;

  std::uint64_t sequence;  ///< the sequence number

  /// As Event::get(). The pointer is valid as long as this object, or a copy.
  template <EventType T>
  const T* get() const& noexcept {
    return event().get<T>();
  }
  template <EventType T>
  const T* get() const&& = delete;
  /// As Event::agent(). Valid as long as this object, or a copy.
  const Agent& agent() const& noexcept { return event().agent(); }
  const Agent& agent() const&& = delete;
  /// As Event::visit().
  template <typename... Callbacks>
  void visit(Callbacks&&... callbacks) const {
    event().visit(callbacks...);
  }
  /// The event, for functions that take a `const Event&`. Valid as long as this object, or a copy.
  Event event() const& noexcept { return {sequence, *body_}; }
  Event event() const&& = delete;

 private:
  std::shared_ptr<const detail::EventBody> body_;
};

inline KeptEvent Event::keep() const {
  return KeptEvent(*this);
}

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

// What a callback of Event::visit() takes if it is a template, or has several call operators.
struct SeveralTypes {};

template <typename R, typename P>
std::type_identity<P> parameter_of(R (*)(P));
template <typename R, typename C, typename P>
std::type_identity<P> parameter_of(R (C::*)(P));
template <typename R, typename C, typename P>
std::type_identity<P> parameter_of(R (C::*)(P) const);

template <typename Callback>
consteval auto visited_type() {
  if constexpr (requires { detail::parameter_of(&Callback::operator()); })
    return decltype(detail::parameter_of(&Callback::operator())){};
  else if constexpr (requires(Callback function) { detail::parameter_of(function); })
    return decltype(detail::parameter_of(std::declval<Callback>())){};
  else
    return std::type_identity<SeveralTypes>{};
}

// The type of event that a callback takes: a type of event, Event, SeveralTypes, or what is none.
template <typename Callback>
using VisitedType = std::remove_cvref_t<typename decltype(visited_type<std::decay_t<Callback>>())::type>;

template <typename T, typename... Callbacks>
inline constexpr std::size_t callbacks_for = (std::size_t{0} + ... +
                                              std::size_t{std::is_same_v<VisitedType<Callbacks>, T>});

// True if a callback for SeveralTypes is called with a T. It is not asked about types that have a callback of
// their own: a generic lambda need not compile for them.
template <typename Callback, typename T, typename... Callbacks>
consteval bool is_rest() {
  if constexpr (std::is_same_v<VisitedType<Callback>, SeveralTypes> && callbacks_for<T, Callbacks...> == 0)
    return std::is_invocable_v<Callback&, const T&>;
  else
    return false;
}

template <typename Callback, typename... Callbacks, typename... Types>
consteval bool takes_events(const std::variant<Types...>* /*type only*/) {
  using T = VisitedType<Callback>;
  if constexpr (std::is_same_v<T, SeveralTypes>)
    return (is_rest<Callback, Types, Callbacks...>() || ...);
  else if constexpr (EventType<T> || std::is_same_v<T, Event>)
    return std::is_invocable_v<Callback&, const T&>;
  else
    return false;
}

// The conditions of Event::visit().
template <typename... Callbacks>
inline constexpr bool take_events =
    (takes_events<Callbacks, Callbacks...>(static_cast<const EventBody*>(nullptr)) && ...);
template <typename... Callbacks>
inline constexpr bool take_different_types =
    ((!EventType<VisitedType<Callbacks>> || callbacks_for<VisitedType<Callbacks>, Callbacks...> == 1) && ...);
template <typename... Callbacks>
inline constexpr bool have_one_fallback =
    callbacks_for<Event, Callbacks...> + callbacks_for<SeveralTypes, Callbacks...> <= 1;

// Calls `callback` if it is the one for an event of type T.
template <typename T, typename... Callbacks, typename Callback>
void visit_by([[maybe_unused]] const Event& event, [[maybe_unused]] const T& body,
              [[maybe_unused]] Callback& callback) {
  using Taken = VisitedType<Callback>;
  if constexpr (std::is_same_v<Taken, T> || is_rest<Callback, T, Callbacks...>())
    static_cast<void>(callback(body));
  else if constexpr (std::is_same_v<Taken, Event> && callbacks_for<T, Callbacks...> == 0)
    static_cast<void>(callback(event));
}

inline const EventBody& event_body(const Event& event) noexcept {
  return event.body_;
}

}  // namespace detail

template <typename... Callbacks>
void Event::visit(Callbacks&&... callbacks) const {
  constexpr bool takes_events = detail::take_events<std::remove_reference_t<Callbacks>...>;
  constexpr bool is_clear = detail::take_different_types<std::remove_reference_t<Callbacks>...>;
  constexpr bool has_one_rest = detail::have_one_fallback<std::remove_reference_t<Callbacks>...>;
  static_assert(takes_events,
                "Event::visit(): each callback takes `const T&`, where T is a type of event, such as "
                "agentcore::TurnEnded; one may take `const agentcore::Event&`, for all other types");
  static_assert(is_clear, "Event::visit(): two callbacks take the same type of event");
  static_assert(has_one_rest, "Event::visit(): two callbacks are for all other types; there may be one");
  if constexpr (takes_events && is_clear && has_one_rest)
    std::visit(
        [&]<typename T>(const T& body) {
          (detail::visit_by<T, std::remove_reference_t<Callbacks>...>(*this, body, callbacks), ...);
        },
        body_);
}

template <typename T>
Subscription Agent::on(std::function<void(const T&)> callback) const {
  static_assert(EventType<T>, "T must be a type of event, such as agentcore::TurnEnded");
  return subscribe(detail::event_kind<T>, detail::only<T>(std::move(callback)));
}

}  // namespace agentcore
