// Leases: an agent that its host does not renew in time is stopped.
#include "support/drive/tool_turn.hpp"
#include "support/observe/counted_heap.hpp"

#include <agentcore/testing/references.hpp>

#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

struct Leased : ToolTurn {
  explicit Leased(Duration lease = 10s) : a(agent({.limits = {.turn_timeout = 1000s, .lease = lease}})) {
    stops = a.on<StateChanged>([this](const StateChanged& change) {
      if (change.to == AgentState::stopping) causes.push_back(change.cause);
    });
  }
  Agent a;
  std::vector<StopCause> causes;
  Subscription stops;
};

}  // namespace

TEST_CASE("a lease that is renewed lets its agent run", "[tree][lease]") {
  Leased t;
  t.settle();
  for (int i = 0; i < 5; ++i) {
    t.advance(9s);
    CHECK(t.a.renew().took_effect());
  }
  CHECK(t.a.state().value() == AgentState::idle);
  t.ask(t.a);
  t.answer("words");
  CHECK(t.result->text == "words");
}

TEST_CASE("a lease that runs leaves the one step of a poll without time to another timer",
          "[tree][lease][loop][G15]") {
  Leased t;
  t.settle();
  bool ran = false;
  const Timer timer = t.runtime->call_after(0s, [&] { ran = true; });
  t.runtime->poll(Duration(0));
  CHECK(ran);
}

TEST_CASE("a lease that runs out stops its agent by a timer", "[tree][lease][G1][G5]") {
  Leased t;
  const Agent child = t.a.create_child({.id = "c", .tools = t.tools}).value();
  CHECK(child.send("question"));
  t.ask(t.a);
  const bool in_tool = GENERATE(true, false);
  if (in_tool) t.call({{.name = "held"}});
  t.advance(9s);
  CHECK(t.a.state().value() != AgentState::stopping);
  t.advance(1s);
  CHECK(t.seen.count("ended a 1 stopped") == 1);
  CHECK(t.seen.count("ended c 1 stopped") == 1);
  CHECK(t.causes == std::vector{StopCause::lease});
  if (in_tool) {
    CHECK(t.held.calls[0].context.stop().stop_requested());
    t.held.calls[0].done(ToolResult::done("late"));
    t.settle();
  }
  CHECK(t.a.state().value() == AgentState::stopped);
  CHECK(child.state().value() == AgentState::stopped);
}

TEST_CASE("a renewal after the end of a lease is refused and only a resume opens the agent",
          "[tree][lease]") {
  Leased t;
  t.advance(10s);
  t.settle();
  CHECK(t.a.renew().reason == Errc::lease_expired);
  CHECK(t.a.state().value() == AgentState::stopped);
  CHECK(t.a.resume().took_effect());
  t.settle();
  CHECK(t.a.state().value() == AgentState::idle);
  t.advance(9s);
  CHECK(t.a.renew().took_effect());
  t.advance(9s);
  CHECK(t.a.state().value() == AgentState::idle);
  t.advance(1s);
  t.settle();
  CHECK(t.a.state().value() == AgentState::stopped);
  CHECK(t.causes == std::vector{StopCause::lease, StopCause::lease});
}

TEST_CASE("a message does not resume an agent whose lease has run out", "[tree][lease][X4][G12]") {
  ToolTurn t;
  const Agent agent = t.agent({.auto_resume = true, .limits = {.lease = 10s}});
  t.settle();
  const bool steers = GENERATE(true, false);
  const auto deliver = [&] {
    return steers ? agent.steer("question").reason : agent.send("question").reason;
  };
  const bool by_lease = GENERATE(true, false);
  if (!by_lease) CHECK(agent.stop().took_effect());
  if (by_lease) t.advance(10s);
  t.settle();
  const bool noticed = GENERATE(true, false);
  if (!by_lease) t.clock.advance(10s);
  if (noticed) t.settle();
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(deliver() == Errc::agent_stopped);
  t.settle();
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(t.seen.count("started a") == 0);
  CHECK(agent.resume().took_effect());
  CHECK(deliver() == Errc::none);
  t.settle();
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(deliver() == Errc::none);  // its lease runs
  t.settle();
  CHECK(t.seen.count("started a") == 2);
}

TEST_CASE("a handler does not run after the end of the lease", "[tree][lease][G1]") {
  ToolTurn t;
  int handled = 0;
  bool takes_long = false;
  const Agent agent = t.root("a", {.handler =
                                       [&](const Agent&, const Message&) {
                                         ++handled;
                                         if (takes_long) t.clock.advance(10s);
                                       },
                                   .limits = {.lease = 10s}});
  Subscription observer;
  SECTION("because an observer of its beginning took the time") {
    observer = t.tree->on<TurnStarted>([&](const TurnStarted&) { t.clock.advance(10s); });
  }
  SECTION("because an observer of its state took the time") {
    observer = t.tree->on<StateChanged>([&](const StateChanged& change) {
      if (change.to == AgentState::processing) t.clock.advance(10s);
    });
  }
  SECTION("and one that takes the time itself does not complete") {
    takes_long = true;
  }
  CHECK(agent.send("one"));
  CHECK(agent.send("two"));
  t.settle();
  CHECK(handled == (takes_long ? 1 : 0));
  CHECK(t.seen.with("ended a") == std::vector<std::string>{"ended a 1 stopped"});
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("the end of a lease is noticed without a timer", "[tree][lease][G1]") {
  Leased t;
  t.settle();
  SECTION("by a message") {
    t.clock.advance(10s);
    CHECK(t.a.send("question").reason == Errc::agent_stopping);
  }
  SECTION("by a steered message") {
    t.clock.advance(10s);
    CHECK(t.a.steer("question").reason == Errc::agent_stopping);
  }
  SECTION("by a query") {
    t.clock.advance(10s);
    CHECK(t.a.state().value() == AgentState::stopping);
    CHECK(t.a.status().value().state == AgentState::stopping);
  }
  SECTION("by a renewal that comes too late") {
    t.clock.advance(10s);
    CHECK(t.a.renew().reason == Errc::lease_expired);
    CHECK(t.a.state().value() == AgentState::stopping);
  }
  SECTION("by the creation of a child") {
    t.clock.advance(10s);
    CHECK(t.a.create_child({.id = "c"}).error().code == Errc::agent_stopping);
  }
  SECTION("by the beginning of a turn") {
    CHECK(t.a.send("question"));
    t.clock.advance(10s);
    t.settle();
    CHECK(t.seen.count("started a") == 0);
  }
  SECTION("by the beginning of a turn, although another agent took the time in the same poll") {
    const Agent slow =
        t.tree->create({.id = "slow", .handler = [&](const Agent&, const Message&) { t.clock.advance(10s); }})
            .value();
    CHECK(slow.send("x"));
    CHECK(t.a.send("question"));
    t.runtime->poll(std::chrono::hours(1));
    CHECK(t.seen.count("started slow") == 1);
    CHECK(t.seen.count("started a") == 0);
  }
  SECTION("by an answer of the model") {
    t.ask(t.a);
    t.clock.advance(10s);
    t.llm->delta("a", "wo");
    CHECK(t.seen.count("delta a") == 0);
    t.call({{.name = "held"}});
    CHECK(t.held.calls.empty());
    CHECK(t.result->outcome == TurnOutcome::stopped);
  }
  SECTION("by the next step, although an observer took the time") {
    const auto states = t.tree->on<ToolEnded>([&](const ToolEnded&) { t.clock.advance(10s); });
    t.ask(t.a);
    t.call({{.name = "add", .arguments = R"({"a":1,"b":2})"}});
    t.settle();
    CHECK(t.llm->calls() == 1);
    CHECK(t.result->outcome == TurnOutcome::stopped);
  }
  SECTION("by the result of a tool") {
    t.ask(t.a);
    t.call({{.name = "held"}});
    t.clock.advance(10s);
    t.held.calls[0].done(ToolResult::done("late"));
    t.settle();
    CHECK(t.llm->calls() == 1);
    CHECK(t.result->calls.at(0).outcome == ToolOutcome::interrupted);
  }
  SECTION("by a tool that acts") {
    t.ask(t.a);
    t.call({{.name = "held"}});
    const Agent other = t.root("b");
    t.clock.advance(10s);
    CHECK(t.held.calls[0].context.send(other, {.text = "more"}).reason == Errc::agent_stopping);
    t.held.calls[0].done(ToolResult::done("late"));
  }
  t.settle();
  CHECK(t.a.state().value() == AgentState::stopped);
  CHECK(t.causes == std::vector{StopCause::lease});
}

TEST_CASE("the lease of an ancestor covers its descendants", "[tree][lease][G1]") {
  Leased t;
  const Agent child = t.a.create_child({.id = "c", .limits = {.lease = 100s}}).value();
  const Agent leaf = child.create_child({.id = "l"}).value();
  t.settle();
  CHECK(leaf.renew().reason == Errc::no_lease);
  t.clock.advance(10s);
  CHECK(child.renew().took_effect());  // its own
  CHECK(leaf.send("question").reason == Errc::agent_stopping);
  t.settle();
  CHECK(leaf.state().value() == AgentState::stopped);
  t.advance(1000s);  // the lease of the child ends while it is stopped
  CHECK(t.a.resume().took_effect());
  t.settle();
  CHECK(child.state().value() == AgentState::idle);  // with a whole lease
  CHECK(t.a.renew().took_effect());
  CHECK(leaf.state().value() == AgentState::idle);
}

TEST_CASE("the lease of a child stops the child alone", "[tree][lease]") {
  ToolTurn t;
  const Agent parent = t.agent();
  const Agent child = parent.create_child({.id = "c", .limits = {.lease = 10s}}).value();
  t.settle();
  t.advance(10s);
  CHECK(child.state().value() == AgentState::stopped);
  CHECK(parent.state().value() == AgentState::idle);
  CHECK(parent.send("question"));
}

TEST_CASE("a lease does not stand still in a pause and ends a pending stop", "[tree][lease][pause][later]") {
  Leased t;
  t.ask(t.a);
  const bool pauses = GENERATE(true, false);
  CHECK((pauses ? t.a.pause() : t.a.stop({.when = StopWhen::after_turn})).took_effect());
  t.settle();
  t.advance(10s);
  CHECK(t.result->outcome == TurnOutcome::stopped);
  CHECK(t.a.state().value() == AgentState::stopped);
}

TEST_CASE("a lease is checked when the agent is created", "[tree][lease]") {
  ToolTurn t;
  CHECK(t.tree->create({.limits = {.lease = 0s}}).error().code == Errc::invalid_config);
  CHECK(t.tree->create({.limits = {.lease = -1s}}).error().code == Errc::invalid_config);
  CHECK(t.tree->create({.role = AgentRole::user, .limits = {.lease = 1s}}).error().code ==
        Errc::invalid_config);
  const Agent longest = t.tree->create({.id = "longest", .limits = {.lease = Duration::max() - 1ns}}).value();
  t.advance(1000s);
  CHECK(longest.renew().took_effect());
  CHECK(longest.state().value() == AgentState::idle);
  CHECK(Agent().renew().reason == Errc::agent_not_found);
}

TEST_CASE("a lease that runs out without memory for its stop stops its agent in the next poll",
          "[tree][lease][G1]") {
  Leased t;
  t.ask(t.a);
  t.clock.advance(10s);
  const bool by_timer = GENERATE(true, false);
  {
    const FailingAllocation failing(1, 1'000'000);
    if (by_timer)
      t.poll();
    else
      static_cast<void>(t.a.renew());
  }
  t.settle();
  CHECK(t.result->outcome == TurnOutcome::stopped);
  CHECK(t.a.state().value() == AgentState::stopped);
  CHECK(t.causes == std::vector{StopCause::lease});
}

TEST_CASE("an agent that is deleted leaves no lease", "[tree][lease][G13]") {
  Leased t;
  t.settle();
  CHECK(t.a.terminate().took_effect());
  t.settle();
  CHECK(t.a.renew().reason == Errc::agent_not_found);
  const Agent next = t.tree->create({.id = "a"}).value();
  CHECK(next.renew().reason == Errc::no_lease);
  t.advance(100s);
  CHECK(next.state().value() == AgentState::idle);
}

TEST_CASE("a lease runs while the machine sleeps", "[tree][lease][sleep][G1]") {
  Leased t;
  t.settle();
  t.clock.sleep(9s);
  CHECK(t.a.renew().took_effect());
  t.settle();
  t.ask(t.a);
  t.clock.sleep(9s);
  t.settle();
  CHECK(t.a.state().value() == AgentState::waiting_llm);
  t.clock.sleep(1s);
  SECTION("and its end is noticed by a timer") {
    CHECK(t.runtime->next_deadline() == t.clock.now());
    t.settle();
    CHECK(t.causes == std::vector{StopCause::lease});
  }
  SECTION("and its end is noticed without a timer") {
    CHECK(t.a.send("question").reason == Errc::agent_stopping);
    t.settle();
  }
  CHECK(t.a.renew().reason == Errc::lease_expired);
  CHECK(t.result->outcome == TurnOutcome::stopped);
  CHECK(t.a.state().value() == AgentState::stopped);
}

TEST_CASE("other times stand still while the machine sleeps", "[tree][lease][sleep]") {
  ToolTurn t;
  const Agent agent = t.agent({.limits = {.turn_timeout = 10s}});
  t.ask(agent);
  t.clock.sleep(3600s);
  t.settle();
  CHECK(agent.state().value() == AgentState::waiting_llm);
  CHECK(t.runtime->next_deadline() == t.clock.now() + 10s);
}

TEST_CASE("the loop waits for a lease and for other timers in their order", "[tree][lease][sleep]") {
  Leased t;  // 10 s
  t.settle();
  CHECK(t.runtime->next_deadline() == t.clock.now() + 10s);
  const Timer earlier = t.runtime->call_after(4s, [] {});
  CHECK(t.runtime->next_deadline() == t.clock.now() + 4s);
  t.clock.sleep(7s);
  CHECK(t.runtime->next_deadline() == t.clock.now() + 3s);
  const TimePoint start = t.clock.now();
  t.runtime->run_for(20s);
  CHECK(t.clock.now() == start + 20s);
  CHECK(t.a.state().value() == AgentState::stopped);
}

TEST_CASE("a loop is idle although a lease runs", "[tree][lease]") {
  Leased t;
  const TimePoint start = t.clock.now();
  CHECK(t.runtime->run_until_idle(5s));
  CHECK(t.clock.now() == start);
  t.ask(t.a);
  CHECK_FALSE(t.runtime->run_until_idle(5s));  // a model call is open
  CHECK(t.clock.now() == start + 5s);
  CHECK(t.a.state().value() == AgentState::waiting_llm);
}

TEST_CASE("many leases that run out together stop all their agents", "[tree][lease][G1]") {
  ToolTurn t;
  std::vector<Agent> agents;
  for (int i = 0; i < 200; ++i)
    agents.push_back(t.root("agent " + std::to_string(i), {.limits = {.lease = 10s}}));
  t.settle();
  t.advance(10s);
  for (const Agent& agent : agents) CHECK(t.seen.reported_state(agent) == AgentState::stopped);
}
