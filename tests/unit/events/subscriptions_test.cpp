// Observers of one type of event, and of one agent.
#include "support/drive/tree_fixture.hpp"

#include <agentcore/testing/references.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// The kinds of events that a callback received, as one text.
struct Log {
  std::string text;
  void add(std::string_view line) { text.append(text.empty() ? "" : " ").append(line); }
};

}  // namespace

TEST_CASE("on<T> calls its callback for events of that type alone", "[events][Q3]") {
  TreeFixture t;
  Log log;
  const auto started =
      t.tree->on<TurnStarted>([&](const TurnStarted& event) { log.add("started " + event.agent.id()); });
  const auto states = t.tree->on<StateChanged>(
      [&](const StateChanged& change) { log.add(std::string(to_string(change.to))); });
  t.ask(t.root("a"));
  CHECK(log.text == "started a waiting_llm");
}

TEST_CASE("a state change is an event with a sequence number of its own", "[events][G7][CARD2][B20]") {
  TreeFixture t;
  std::vector<std::uint64_t> numbers;
  int changes = 0;
  const auto all = t.tree->on_event([&](const Event& event) {
    numbers.push_back(event.sequence);
    changes += event.get<StateChanged>() != nullptr;
  });
  t.ask(t.root("a"));
  t.llm->answer("a", "yes");
  t.settle();
  CHECK(changes == 3);  // waiting_llm, processing, idle
  for (std::size_t i = 1; i < numbers.size(); ++i) CHECK(numbers[i - 1] < numbers[i]);
}

TEST_CASE("an agent's own observers receive its events and no others", "[events][Q3]") {
  TreeFixture t;
  const Agent a = t.root("a");
  const Agent b = t.root("b");
  const Agent below = t.child(a, "below");
  Log log;
  const auto all = a.on_event([&](const Event& event) {
    CHECK(event.agent() == a);
    log.add(event.get<TurnStarted>() ? "started" : event.get<StateChanged>() ? "state" : "other");
  });
  const auto ends = a.on<TurnEnded>([&](const TurnEnded& end) { log.add("ended " + end.agent.id()); });
  t.ask(b);
  t.ask(below);
  CHECK(log.text.empty());
  t.ask(a);
  CHECK(log.text == "started state");
  t.llm->answer("a", "yes");
  t.settle();
  CHECK(log.text.find("ended a") != std::string::npos);
}

TEST_CASE("the observers of the tree are called before those of the agent", "[events][Q3]") {
  TreeFixture t;
  const Agent a = t.root("a");
  Log log;
  const auto own = a.on<TurnStarted>([&](const TurnStarted&) { log.add("agent"); });
  const auto tree = t.tree->on<TurnStarted>([&](const TurnStarted&) { log.add("tree"); });
  t.ask(a);
  CHECK(log.text == "tree agent");
}

TEST_CASE("an agent's observer may leave and join within its callback", "[events][Q3]") {
  TreeFixture t;
  const Agent a = t.root("a");
  int first = 0;
  int second = 0;
  Subscription joined;
  Subscription own;
  own = a.on<TurnStarted>([&](const TurnStarted&) {
    ++first;
    joined = a.on<TurnStarted>([&](const TurnStarted&) { ++second; });
    own.reset();
  });
  for (int turn = 1; turn <= 2; ++turn) {
    t.ask(a);
    t.llm->answer("a", "yes");
    t.settle();
  }
  CHECK(first == 1);
  CHECK(second == 1);
}

TEST_CASE("AgentDeleted is the last event for an agent's observers, and nothing of them is left",
          "[events][G13][Q3]") {
  TreeFixture t;
  Agent a = t.root("a");
  const auto held = std::make_shared<int>(0);
  std::string last;
  Subscription own = a.on_event(
      [&last, held](const Event& event) { last = event.get<AgentDeleted>() ? "deleted" : "another"; });
  CHECK(held.use_count() == 2);
  CHECK(a.terminate().took_effect());
  t.settle();
  CHECK(last == "deleted");
  CHECK(held.use_count() == 1);  // the callback was destroyed with the agent
  own.reset();
  CHECK(testing::count_references(*t.tree, "a") == 0);
}

TEST_CASE("nothing can be subscribed to an agent that is gone", "[events][Q3]") {
  TreeFixture t;
  const Agent a = t.root("a");
  CHECK(a.terminate().took_effect());
  t.settle();
  CHECK_FALSE(a.on_event([](const Event&) {}));
  CHECK_FALSE(Agent().on<TurnEnded>([](const TurnEnded&) {}));
  CHECK_THROWS_AS(a.on_event({}), std::invalid_argument);
  CHECK_THROWS_AS(a.on<TurnEnded>({}), std::invalid_argument);
  CHECK_THROWS_AS(t.tree->on<TurnEnded>({}), std::invalid_argument);
}

TEST_CASE("an agent's observer may destroy the tree", "[events][Q3]") {
  TreeFixture t;
  const Agent a = t.root("a");
  t.seen.unwatch();
  int later = 0;
  const auto first = a.on<TurnStarted>([&](const TurnStarted&) { t.tree.reset(); });
  const auto second = a.on<TurnStarted>([&](const TurnStarted&) { ++later; });
  CHECK(a.send("question").accepted());
  t.runtime->poll();
  CHECK(later == 0);
  CHECK_FALSE(a.exists());
}
