// Event::visit: one callback for each type of event, and one for the rest.
#include "support/catch.hpp"

#include <agentcore/event.hpp>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace agentcore;

namespace {

constexpr std::size_t kinds = std::variant_size_v<detail::EventBody>;

template <typename T>
detail::EventBody body_of() {
  return detail::EventBody(std::in_place_type<T>);
}

// Calls `function` with an event of each type, and its type.
template <typename Function, std::size_t... Index>
void for_each_event(Function function, std::index_sequence<Index...>) {
  const auto call = [&]<typename T>(std::in_place_type_t<T> type) {
    const detail::EventBody body = body_of<T>();
    function(Event(1, body), type);
  };
  (call(std::in_place_type<std::variant_alternative_t<Index, detail::EventBody>>), ...);
}
template <typename Function>
void for_each_event(Function function) {
  for_each_event(std::move(function), std::make_index_sequence<kinds>());
}

template <typename... Callbacks>
constexpr bool compiles = detail::take_events<Callbacks...>&& detail::take_different_types<Callbacks...>&&
    detail::have_one_fallback<Callbacks...>;

int started_calls = 0;
void on_started(const TurnStarted& /*event*/) noexcept {
  ++started_calls;
}

struct StartsAndEnds {
  int* starts;
  int* ends;
  void operator()(const TurnStarted& /*event*/) { ++*starts; }
  void operator()(const TurnEnded& /*event*/) { ++*ends; }
};

}  // namespace

TEST_CASE("visit calls the callback for the type of the event alone", "[events][Q3]") {
  for_each_event([]<typename Other>(const Event& event, std::in_place_type_t<Other> /*type*/) {
    int own = 0, others = 0;
    for_each_event([&]<typename T>(const Event& /*event*/, std::in_place_type_t<T> /*type*/) {
      event.visit(
          [&](const T& body) {
            ++own;
            CHECK(&body == event.get<T>());
          },
          [&](const Event& rest) {
            ++others;
            CHECK(&rest == &event);
          });
    });
    CHECK(own == 1);
    CHECK(others == kinds - 1);
  });
}

TEST_CASE("visit does nothing for an event without a callback", "[events][Q3]") {
  const detail::EventBody body = body_of<Settled>();
  const Event event(1, body);
  int calls = 0;
  event.visit([&](const TurnStarted&) { ++calls; }, [&](const TurnEnded&) { ++calls; });
  event.visit();
  CHECK(calls == 0);
}

TEST_CASE("the order of the callbacks of visit has no meaning", "[events][Q3]") {
  const detail::EventBody body = body_of<TurnEnded>();
  const Event event(1, body);
  std::string called;
  event.visit([&](const Event&) { called += "rest "; }, [&](const TurnEnded&) { called += "ended "; });
  event.visit([&](const TurnEnded&) { called += "ended "; }, [&](const auto&) { called += "rest "; });
  CHECK(called == "ended ended ");
}

TEST_CASE("a generic callback of visit gets the events without a callback of their own", "[events][Q3]") {
  int generic = 0;
  int deltas = 0;
  for_each_event([&](const Event& event, auto) {
    // The generic one would not compile for the types that have no turn.
    const auto with_turn = [&](const auto& body) requires requires {
      body.turn;
    }
    { generic += body.turn == 0 ? 1 : 0; };
    event.visit(with_turn, [&](const DeltaReceived&) { ++deltas; });
  });
  CHECK(deltas == 1);
  int turns = 0;
  for_each_event([&]<typename T>(const Event&, std::in_place_type_t<T>) {
    if constexpr (requires(const T& body) { body.turn; }) ++turns;
  });
  CHECK(generic == turns - 1);
}

TEST_CASE("a generic callback of visit need not compile for types with a callback of their own",
          "[events][Q3]") {
  const detail::EventBody started = body_of<TurnStarted>();
  const detail::EventBody created = body_of<AgentCreated>();
  std::string called;
  const auto look = [&](const detail::EventBody& body) {
    Event(1, body).visit([&](const TurnStarted&) { called += "started "; },
                         [&]<typename T>(const T&) {
                           static_assert(!std::is_same_v<T, TurnStarted>);
                           called += "other ";
                         });
  };
  look(started);
  look(created);
  CHECK(called == "started other ");
}

TEST_CASE("visit takes functions, std::function and objects with several call operators", "[events][Q3]") {
  int starts = 0, ends = 0, deleted = 0;
  started_calls = 0;
  const std::function<void(const AgentDeleted&)> on_deleted = [&](const AgentDeleted&) { ++deleted; };
  for_each_event([&](const Event& event, auto) {
    event.visit(StartsAndEnds{&starts, &ends}, on_deleted);
    event.visit(on_started);
    event.visit(&on_started);
  });
  CHECK(starts == 1);
  CHECK(ends == 1);
  CHECK(deleted == 1);
  CHECK(started_calls == 2);
}

TEST_CASE("what a callback of visit throws is passed on", "[events][Q3]") {
  const detail::EventBody body = body_of<TurnStarted>();
  const Event event(1, body);
  CHECK_THROWS_AS(event.visit([](const TurnStarted&) { throw std::runtime_error("on purpose"); }),
                  std::runtime_error);
}

TEST_CASE("visit refuses callbacks that take no event, and two for one type", "[events][Q3]") {
  const auto ended = [](const TurnEnded&) {};
  const auto started = [](const TurnStarted&) { return 1; };
  const auto rest = [](const Event&) {};
  const auto generic = [](const auto&) {};
  using Ended = decltype(ended);
  using Rest = decltype(rest);
  using Generic = decltype(generic);
  STATIC_REQUIRE(compiles<>);
  STATIC_REQUIRE(compiles<Ended, decltype(started), Rest>);
  STATIC_REQUIRE(compiles<Generic, Ended>);

  // Nothing is converted: neither the event nor a member of it.
  const auto number = [](std::uint64_t) {};
  const auto agent = [](const Agent&) {};
  const auto changes = [](TurnEnded&) {};
  const auto two = [](const TurnEnded&, int) {};
  const auto none = [] {};
  STATIC_REQUIRE_FALSE(compiles<decltype(number)>);
  STATIC_REQUIRE_FALSE(compiles<decltype(agent), Ended>);
  STATIC_REQUIRE_FALSE(compiles<decltype(changes)>);
  STATIC_REQUIRE_FALSE(compiles<decltype(two)>);
  STATIC_REQUIRE_FALSE(compiles<decltype(none)>);
  STATIC_REQUIRE_FALSE(compiles<int>);

  STATIC_REQUIRE_FALSE(compiles<Ended, decltype(started), Ended>);
  STATIC_REQUIRE_FALSE(compiles<Rest, Rest>);
  STATIC_REQUIRE_FALSE(compiles<Rest, Generic>);
}

TEST_CASE("only types of events are EventType", "[events][Q3]") {
  STATIC_REQUIRE(EventType<TurnEnded>);
  STATIC_REQUIRE_FALSE(EventType<Event>);
  STATIC_REQUIRE_FALSE(EventType<TurnResult>);
  STATIC_REQUIRE_FALSE(EventType<const TurnEnded&>);
}
