// What a turn reports and in which order, when callbacks interfere.
#include "support/drive/tree_fixture.hpp"
#include "support/drive/unhurried.hpp"

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a turn that is stopped before its start was reported has both events", "[turn][G7]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  const auto hook = t.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.to == AgentState::waiting_llm) static_cast<void>(agent.stop());
  });
  CHECK(agent.send("x").accepted());
  t.settle();
  CHECK(joined(t.seen.with("started")) == "started a 1");
  CHECK(joined(t.seen.with("ended")) == "ended a 1 stopped");
  CHECK(t.llm->calls() == 0);
  CHECK(written(agent.conversation().value()) == "user:x!stopped");
}

TEST_CASE("a stopped turn of a handler has both events", "[turn][G7][G1]") {
  TreeFixture t;
  int handled = 0;
  const Agent agent = t.root("a", {.handler = [&](const Agent&, const Message&) { ++handled; }});
  const auto hook = t.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.to == AgentState::processing) static_cast<void>(agent.stop());
  });
  CHECK(agent.send("x").accepted());
  t.settle();
  CHECK(handled == 0);
  CHECK(joined(t.seen.with("started")) == "started a 1");
  CHECK(joined(t.seen.with("ended")) == "ended a 1 stopped");
}

TEST_CASE("an agent that the last observer of its handler's turn stops does not report idle", "[turn][X2]") {
  const bool by_options = GENERATE(false, true);  // SendOptions::on_end, or an observer that unsubscribes
  CAPTURE(by_options);
  Runtime runtime{test::unhurried()};
  AgentTree tree(runtime);
  std::string states;
  const auto observer = tree.on<StateChanged>(
      [&](const StateChanged& change) { states.append(" ").append(to_string(change.to)); });
  const Agent agent = tree.create({.handler = [](const Agent&, const Message&) {}}).value();
  Subscription once;
  SendOptions options;
  if (by_options)
    options.on_end = [&](const MessageEnd&) { static_cast<void>(agent.stop()); };
  else
    once = tree.on<TurnEnded>([&](const TurnEnded&) {
      once.reset();
      static_cast<void>(agent.stop());
    });
  CHECK(agent.send("x", std::move(options)).accepted());
  while (tree.busy()) runtime.poll();
  CHECK(states == " processing stopping stopped");
}

TEST_CASE("an observer that subscribes within a turn receives the change of state at its end", "[turn]") {
  Runtime runtime{test::unhurried()};
  AgentTree tree(runtime);
  std::string changes;
  Subscription observer;
  const auto subscribe = [&](const Agent&, const Message&) {
    observer = tree.on<StateChanged>([&](const StateChanged& change) {
      changes.append(to_string(change.from)).append(" -> ").append(to_string(change.to));
    });
  };
  const Agent agent = tree.create({.handler = subscribe}).value();
  CHECK(agent.send("x").accepted());
  while (tree.busy()) runtime.poll();
  CHECK(changes == "processing -> idle");
}

TEST_CASE("an abort when the call has already failed finds no call", "[turn][A20]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  VerbResult result;
  const auto hook = t.tree->on_event([&](const Event& event) {
    if (event.get<TurnEnded>()) result = agent.abort();
  });
  t.ask(agent);
  t.llm->fail("a");
  t.settle();
  CHECK(result.accepted());
  CHECK_FALSE(result.took_effect());
  CHECK(result.reason == Errc::not_waiting_llm);
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("a too long answer of a client that ignores its stop does not delay the next message",
          "[turn][G15]") {
  TreeOptions options;
  options.max_answer_bytes = 4;
  TreeFixture t(options);
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent, "one");
  CHECK(agent.send("two").accepted());
  t.llm->delta("a", "four+");
  t.settle();
  CHECK(t.llm->calls() == 2);
  CHECK(t.state("a") == AgentState::waiting_llm);
  CHECK(t.llm->call(0).stop.stop_requested());
}

TEST_CASE("events that a callback causes are reported to all observers after its own event", "[events][G7]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> second;
  t.llm->on_stop = OnStop::at_once;
  const auto one = t.tree->on_event([&](const Event& event) {
    first.push_back(event.sequence);
    if (event.get<TurnStarted>()) static_cast<void>(agent.create_child());
    if (event.get<DeltaReceived>()) static_cast<void>(agent.stop());
  });
  const auto two = t.tree->on_event([&](const Event& event) { second.push_back(event.sequence); });
  t.ask(agent);
  t.llm->delta("a", "text");
  t.settle();
  CHECK(std::is_sorted(first.begin(), first.end()));
  CHECK(first == second);
  CHECK(t.seen.index("delta a 1 text") < t.seen.index("ended a 1 stopped"));
}
