// Stops that meet stops of the same agent: for later, of the agent alone, by its lease.
#include "support/drive/tool_turn.hpp"

#include <agentcore/testing/references.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

constexpr StopWhen after_step = StopWhen::after_step;
constexpr StopWhen after_turn = StopWhen::after_turn;

std::optional<StopWhen> pending(const Agent& agent) {
  return agent.status().value().stop_pending;
}

// A parent and its child, each in a model call.
struct Family : ToolTurn {
  explicit Family(AgentSpec spec = {}, OnStop on_stop = OnStop::post) {
    llm->on_stop = on_stop;
    parent = agent(std::move(spec));
    kid = child(parent, "c", {.tools = tools});
    ask(parent);
    ask(kid);
  }
  StopOptions reporting(StopOptions options = {}) {
    options.on_settled = [this](const StopReport& report) { stopped.push_back(report); };
    return options;
  }
  TerminateOptions reporting(TerminateOptions options) {
    options.on_settled = [this](const StopReport&) { ++deletes; };
    return options;
  }
  void answer_both() {
    llm->answer("a", "words");
    llm->answer("c", "words");
    settle();
  }

  Agent parent, kid;
  std::vector<StopReport> stopped;
  int deletes = 0;
};

}  // namespace

TEST_CASE("a delete for later overtakes a stop for later", "[tree][delete][later][G4]") {
  Family t;
  const StopWhen first = GENERATE(after_step, after_turn), second = GENERATE(after_step, after_turn);
  const bool read = GENERATE(true, false);
  CHECK(t.parent.stop(t.reporting(StopOptions{.when = first})).took_effect());
  if (read) t.settle();
  CHECK(t.parent.terminate(t.reporting(TerminateOptions{.when = second})).took_effect());
  CHECK(t.parent.terminate({.when = second}).reason == Errc::stop_pending);
  CHECK(t.parent.stop({.when = after_step}).took_effect() == (first == after_turn && second == after_turn));
  t.settle();
  t.answer_both();
  CHECK_FALSE(t.parent.exists());
  CHECK(t.stopped.size() == 1);
  CHECK(t.deletes == 1);
  CHECK_FALSE(t.tree->busy());
  CHECK(testing::count_references(*t.tree, "a") == 0);
}

TEST_CASE("a resume withdraws a stop and a delete for later together", "[tree][delete][later]") {
  Family t;
  CHECK(t.parent.stop(t.reporting(StopOptions{.when = after_turn})).took_effect());
  CHECK(t.parent.terminate(t.reporting(TerminateOptions{.when = after_turn})).took_effect());
  CHECK(t.parent.resume().took_effect());
  t.settle();
  t.answer_both();
  CHECK(t.parent.state().value() == AgentState::idle);
  CHECK(t.parent.send("next"));
  t.settle();
  // Nothing is left of the delete.
  CHECK(t.parent.stop({.when = after_turn}).took_effect());
  t.settle();
  t.answer_both();
  CHECK(t.parent.state().value() == AgentState::stopped);
  CHECK(t.stopped.empty());
  CHECK(t.deletes == 0);
}

TEST_CASE("a stop for later includes the descendants that an earlier one left out", "[tree][stop][later]") {
  Family t;
  CHECK(t.parent.stop(t.reporting(StopOptions{.scope = Scope::agent, .when = after_step})).took_effect());
  CHECK_FALSE(pending(t.kid));
  CHECK(t.parent.stop(t.reporting(StopOptions{.when = after_turn})).took_effect());
  CHECK(pending(t.parent) == after_step);
  CHECK(pending(t.kid) == after_turn);
  t.settle();
  t.answer_both();
  CHECK(t.parent.state().value() == AgentState::stopped);
  CHECK(t.kid.state().value() == AgentState::stopped);
  CHECK(t.stopped.size() == 2);
}

TEST_CASE("a stricter stop of the agent alone leaves its descendants the softer one", "[tree][stop][later]") {
  Family t;
  CHECK(t.parent.stop({.when = after_turn}).took_effect());
  CHECK(t.parent.stop({.scope = Scope::agent, .when = after_step}).took_effect());
  CHECK(pending(t.parent) == after_step);
  CHECK(pending(t.kid) == after_turn);
  CHECK(t.parent.stop({.when = after_step}).took_effect());
  CHECK(pending(t.kid) == after_step);
  CHECK(t.parent.stop({.when = after_step}).reason == Errc::stop_pending);
  CHECK(t.parent.resume().took_effect());
  CHECK(t.parent.stop({.scope = Scope::agent, .when = after_step}).took_effect());
  CHECK_FALSE(pending(t.kid));
}

TEST_CASE("the earliest escalation of all stops for later counts from its call", "[tree][stop][later][G4]") {
  Family t;
  CHECK(t.parent.stop(t.reporting(StopOptions{.when = after_turn, .escalate_after = 60s})).took_effect());
  t.settle();
  CHECK(t.parent.stop(t.reporting(StopOptions{.when = after_turn, .escalate_after = 10s})).took_effect());
  t.clock.advance(9s);  // the loop is busy
  t.settle();
  CHECK(t.parent.state().value() == AgentState::waiting_llm);
  t.advance(1s);
  CHECK(t.parent.state().value() == AgentState::stopped);
  CHECK(t.stopped.size() == 2);
}

TEST_CASE("a stop of the agent alone makes the pending stop of its subtree take effect",
          "[tree][stop][later][G1]") {
  Family t;
  const bool read = GENERATE(true, false);
  CHECK(t.parent.stop(t.reporting(StopOptions{.when = after_turn})).took_effect());
  if (read) t.settle();
  const VerbResult now = t.parent.stop({.scope = Scope::agent});
  CHECK(now.took_effect());
  CHECK(now.calls_cut == 2);
  CHECK(t.kid.state().value() == AgentState::stopping);
  CHECK(t.kid.send("more").reason == Errc::agent_stopping);
  t.settle();
  CHECK(t.kid.state().value() == AgentState::stopped);
  REQUIRE(t.stopped.size() == 1);
  CHECK(t.stopped[0].descendants == std::vector<std::string>{"c"});
}

TEST_CASE("a stop widens that of the agent alone while that one settles", "[tree][stop][G1][G4]") {
  Family t({}, OnStop::deaf);
  CHECK(t.parent.stop(t.reporting(StopOptions{.scope = Scope::agent})).took_effect());
  const bool read = GENERATE(true, false);
  if (read) t.settle();
  CHECK(t.parent.state().value() == AgentState::stopping);
  CHECK(t.kid.state().value() == AgentState::waiting_llm);
  CHECK(t.parent.stop(t.reporting(StopOptions{})).took_effect());
  CHECK(t.kid.state().value() == AgentState::stopping);
  CHECK(t.parent.stop().reason == Errc::agent_stopping);
  SECTION("the child ends last") {
    t.settle();
    t.llm->answer("a", "late");
    t.settle();
    CHECK(t.parent.state().value() == AgentState::stopping);
    CHECK(t.stopped.empty());
    CHECK(t.parent.resume().reason == Errc::agent_stopping);
    t.llm->answer("c", "late");
    t.settle();
  }
  SECTION("the parent ends last") {
    t.settle();
    t.llm->answer("c", "late");
    t.settle();
    CHECK(t.stopped.empty());
    t.llm->answer("a", "late");
    t.settle();
  }
  SECTION("the parent ends before the loop has read the stop") {
    t.llm->answer("a", "late");
    t.settle();
    CHECK(t.stopped.empty());
    t.llm->answer("c", "late");
    t.settle();
  }
  SECTION("neither ends") {
    t.settle();
    t.advance(10s);
  }
  CHECK(t.parent.state().value() == AgentState::stopped);
  CHECK(t.kid.state().value() == AgentState::stopped);
  REQUIRE(t.stopped.size() == 2);
  CHECK(t.stopped[0].descendants.empty());
  CHECK(t.stopped[1].descendants == std::vector<std::string>{"c"});
  CHECK(t.seen.count("settled a") == 1);
  CHECK(t.seen.count("settled c") == 1);
  CHECK(t.parent.resume().took_effect());
  t.settle();
  CHECK(t.parent.state().value() == AgentState::idle);
  CHECK(t.kid.state().value() == AgentState::idle);
}

TEST_CASE("the grace period of a stop of the agent alone is not that of its descendants",
          "[tree][stop][G4]") {
  Family t({}, OnStop::deaf);
  CHECK(t.parent.stop({.scope = Scope::agent, .grace = 1s}).took_effect());
  t.settle();
  CHECK(t.parent.stop({.grace = 9s}).took_effect());
  t.settle();
  t.advance(2s);
  CHECK(t.seen.count("abandoned a") == 1);
  CHECK(t.seen.count("abandoned c") == 0);
  t.advance(8s);
  CHECK(t.seen.count("abandoned c") == 1);
  CHECK(t.parent.state().value() == AgentState::stopped);
}

TEST_CASE("a lease that runs out closes the subtree of an agent that stops alone", "[tree][lease][G1]") {
  Family t({.limits = {.lease = 10s}}, OnStop::deaf);
  CHECK(t.parent.stop({.scope = Scope::agent, .grace = 60s}).took_effect());
  t.settle();
  t.advance(10s);
  CHECK(t.kid.state().value() == AgentState::stopping);
  CHECK(t.kid.send("more").reason == Errc::agent_stopping);
  t.llm->answer("a", "late");
  t.llm->answer("c", "late");
  t.settle();
  CHECK(t.parent.state().value() == AgentState::stopped);
  CHECK(t.kid.state().value() == AgentState::stopped);
  CHECK(t.parent.renew().reason == Errc::lease_expired);
  CHECK(t.parent.resume().took_effect());
  t.settle();
  CHECK(t.kid.state().value() == AgentState::idle);
  CHECK(t.parent.renew().took_effect());
}

TEST_CASE("a pending stop below a stop is kept although a withdrawal elsewhere is not read yet",
          "[tree][stop][later][G3]") {
  Family t;
  const Agent other = t.child(t.tree->create({.id = "root"}).value(), "o", {.tools = t.tools});
  t.ask(other);
  CHECK(t.kid.stop({.when = after_turn}).took_effect());
  CHECK(other.stop({.when = after_turn}).took_effect());
  t.settle();
  CHECK(t.parent.stop().took_effect());
  CHECK(other.resume().took_effect());
  t.settle();
  CHECK(t.kid.state().value() == AgentState::stopped);
  CHECK(t.parent.resume().took_effect());
  t.settle();
  CHECK(t.parent.state().value() == AgentState::idle);
  CHECK(t.kid.state().value() == AgentState::stopped);  // by its own stop
  CHECK(t.kid.resume().took_effect());
}

TEST_CASE("the event of a deferred stop names the strictest that is pending", "[tree][stop][later]") {
  Family t;
  std::vector<StopWhen> reported;
  const auto events =
      t.parent.on<StopPending>([&](const StopPending& event) { reported.push_back(event.when); });
  CHECK(t.parent.stop({.when = after_step}).took_effect());
  CHECK(t.parent.stop({.when = after_turn, .escalate_after = 60s}).took_effect());
  t.settle();
  CHECK(t.parent.resume().took_effect());
  t.settle();
  CHECK(reported == std::vector{after_step, after_step, after_step});
}

TEST_CASE("a deferred stop of all descendants that adds nothing says that stops are pending",
          "[tree][stop][later]") {
  Family t;
  CHECK(t.parent.stop({.scope = Scope::descendants, .when = after_turn}).took_effect());
  const VerbResult second = t.parent.stop({.scope = Scope::descendants, .when = after_turn});
  CHECK(second.status == VerbStatus::no_effect);
  CHECK(second.reason == Errc::stop_pending);
  CHECK(t.kid.stop().took_effect());
  CHECK(t.parent.stop({.scope = Scope::descendants, .when = after_turn}).reason == Errc::agent_stopped);
}

TEST_CASE("a deferred stop that was withdrawn at the last moment does not take effect",
          "[tree][stop][later]") {
  Family t;
  const Agent other = t.root("o", {.tools = t.tools});
  t.ask(other);
  CHECK(t.parent.stop({.scope = Scope::agent, .when = after_turn, .escalate_after = 10s}).took_effect());
  CHECK(other.stop({.when = after_turn, .escalate_after = 10s}).took_effect());
  t.settle();
  int resumed = 0;
  t.llm->when_stopped = [&] { resumed += other.resume().took_effect(); };  // the first stop cuts its call
  t.advance(10s);
  CHECK(resumed == 1);
  CHECK(t.parent.state().value() == AgentState::stopped);
  CHECK(other.state().value() == AgentState::waiting_llm);
  t.llm->when_stopped = nullptr;
}

TEST_CASE("the events of a stop that another one has widened name the newest", "[tree][stop][X39]") {
  Family t({}, OnStop::deaf);
  std::vector<std::string> reasons;
  const auto watch = t.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.to == AgentState::stopped)
      reasons.push_back(change.agent.id() + " " + std::string(change.origin.reason()));
  });
  CHECK(t.parent.stop({.scope = Scope::agent, .reason = "alone"}).took_effect());
  t.settle();
  CHECK(t.parent.stop({.reason = "all"}).took_effect());
  t.settle();
  t.llm->answer("c", "late");
  t.llm->answer("a", "late");
  t.settle();
  CHECK(reasons == std::vector<std::string>{"c all", "a all"});
}

TEST_CASE("a stop that comes while a resume of the same agent is under way is reported", "[tree][stop][G4]") {
  const int polls = GENERATE(0, 1, 2, 5, 20);
  ToolTurn t;
  const Agent parent = t.agent();
  for (int i = 0; i < 10; ++i) t.child(parent, "c" + std::to_string(i));
  CHECK(parent.stop().took_effect());
  t.settle();
  CHECK(parent.resume().took_effect());
  for (int i = 0; i < polls; ++i) t.runtime->poll(Duration(0));  // one step of each stage
  std::optional<StopReport> report;
  CHECK(parent.stop({.on_settled = [&](const StopReport& made) { report = made; }}).took_effect());
  t.settle();
  CHECK(report);
  CHECK(parent.state().value() == AgentState::stopped);
  CHECK_FALSE(t.tree->busy());
}

TEST_CASE("who waits for a stop that is being widened waits for all of it", "[tree][stop][X32]") {
  Family t({}, OnStop::deaf);
  CHECK(t.parent.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  t.llm->answer("a", "late");
  t.settle();
  REQUIRE(t.parent.state().value() == AgentState::stopped);
  CHECK(t.parent.stop({}).took_effect());
  t.settle();
  const VerbResult third = t.parent.stop(t.reporting(StopOptions{}));
  CHECK(third.status == VerbStatus::no_effect);
  t.settle();
  CHECK(t.stopped.empty());  // the child has not let go
  t.llm->answer("c", "late");
  t.settle();
  CHECK(t.stopped.size() == 1);
}

TEST_CASE("no agent settles within the completion of another one", "[tree][stop][G4][Q3]") {
  ToolTurn t;
  t.llm->on_stop = OnStop::deaf;
  const Agent a = t.agent(), b = t.root("b");
  t.ask(a);
  t.ask(b);
  CHECK(b.stop().took_effect());
  t.settle();
  std::optional<AgentState> within;
  CHECK(a.stop({.on_settled = [&](const StopReport&) {
           t.llm->answer("b", "late");
           within = b.state().value();
         }}).took_effect());
  t.settle();
  t.llm->answer("a", "late");
  t.settle();
  CHECK(within == AgentState::stopping);
  CHECK(b.state().value() == AgentState::stopped);
}
