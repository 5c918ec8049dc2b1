// Terminate: the agent and its subtree are removed from every table.
#include "support/drive/tree_fixture.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/testing/references.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using std::chrono::seconds;

TEST_CASE("a delete removes the subtree from all tables",
          "[tree][D1][D2][D3][D4][D7][E2][B10][B11][S1-P7][S1-P9][D9]") {
  TreeFixture t;
  const Agent top = t.root("top");
  const Agent parent = t.child(top, "parent");
  const Agent child = t.child(parent, "child");
  t.ask(child);
  CHECK(child.send("queued").accepted());
  std::optional<StopReport> report;
  const VerbResult result =
      parent.terminate({.reason = "done", .on_settled = [&](const StopReport& r) { report = r; }});
  CHECK((result.accepted() && result.took_effect() && result.quiet));
  CHECK(t.state("child") == AgentState::terminating);
  CHECK(t.llm->call(0).stop.stop_requested());
  CHECK(parent.terminate().reason == Errc::agent_terminating);
  CHECK(child.terminate().reason == Errc::agent_terminating);
  CHECK(child.stop().reason == Errc::agent_terminating);
  CHECK(child.stop().accepted());
  CHECK(child.resume().reason == Errc::agent_terminating);
  t.settle();
  REQUIRE(report);
  CHECK(report->agent_id == "parent");
  CHECK(report->reason == "done");
  CHECK(report->cause == StopCause::terminate);
  CHECK(report->descendants == std::vector<std::string>{"child"});
  CHECK(report->messages_dropped == 1);
  CHECK(t.tree->size() == 1);
  CHECK(testing::count_references(*t.tree, "parent") + testing::count_references(*t.tree, "child") == 0);
  CHECK(t.seen.index("deleted child") < t.seen.index("settled parent terminating"));
  CHECK(t.seen.index("settled parent terminating") < t.seen.index("deleted parent"));
  CHECK(t.llm->open_calls().empty());
}

TEST_CASE("a delete sends no message to any agent", "[tree][D6][G11][E4][S1-P5][X6]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(child.terminate({.caller = "parent"}).took_effect());
  t.settle();
  CHECK(parent.queue_length().value() == 0);
  CHECK(parent.conversation().value().empty());
  CHECK(t.llm->calls() == 0);
}

TEST_CASE("a stopped agent can be deleted", "[tree][D11][B10][T3]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.stop().took_effect());
  t.settle();
  t.seen.clear();
  CHECK(agent.terminate().took_effect());
  CHECK(t.state("a") == AgentState::terminating);
  t.settle();
  CHECK(t.seen.lines ==
        std::vector<std::string>{"a stopped>terminating", "settled a terminating", "deleted a"});
}

TEST_CASE("a delete during a stop waits for it", "[tree][X13][D10]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent);
  t.seen.clear();
  std::string order;
  CHECK(agent.stop({.on_settled = [&](const StopReport&) { order += "stopped "; }}).took_effect());
  t.settle();
  CHECK(agent.terminate({.on_settled = [&](const StopReport&) { order += "deleted"; }}).took_effect());
  CHECK(t.state("a") == AgentState::stopping);
  CHECK(agent.terminate().reason == Errc::agent_terminating);
  CHECK(agent.resume().reason == Errc::agent_terminating);
  t.settle();
  CHECK(agent.exists());
  t.llm->answer("a", "late");
  t.settle();
  CHECK_FALSE(agent.exists());
  CHECK(order == "stopped deleted");
  CHECK(t.seen.lines == std::vector<std::string>{"ended a 1 stopped", "a waiting_llm>stopping",
                                                 "discarded a 1 answer", "a stopping>stopped",
                                                 "settled a stopped", "a stopped>terminating",
                                                 "settled a terminating", "deleted a"});
}

TEST_CASE("a stop during a delete returns terminating", "[tree][X13][C20]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.terminate().took_effect());
  bool told = false;
  const VerbResult stop = agent.stop({.on_settled = [&](const StopReport&) { told = true; }});
  CHECK((stop.accepted() && !stop.took_effect() && stop.reason == Errc::agent_terminating));
  t.settle();
  CHECK_FALSE(told);
  t.llm->answer("a", "late");
  t.settle();
  CHECK(told);
  CHECK_FALSE(t.tree->busy());
}

TEST_CASE("a delete takes effect before an answer that arrives with it", "[tree][D5][D17][S1-P6][G7]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent);
  t.runtime->post([&] { t.llm->answer("a", "too late"); });
  CHECK(agent.terminate().took_effect());
  t.settle();
  CHECK_FALSE(agent.exists());
  CHECK(t.seen.index("discarded a 1 answer") < t.seen.index("deleted a"));
  CHECK(t.seen.lines.back() == "deleted a");
}

TEST_CASE("a call that ignores its stop is abandoned after the grace period",
          "[tree][X15][G9][C21][C22][X32][D14][D16]") {
  for (const bool del : {false, true}) {
    TreeOptions options;
    options.stop_grace = seconds(2);
    TreeFixture t(options);
    const Agent parent = t.root("parent");
    const Agent deaf = t.child(parent, "deaf");
    const Agent good = t.child(parent, "good");
    t.llm->on_stop = OnStop::deaf;
    t.ask(deaf);
    t.llm->on_stop = OnStop::post;
    t.ask(good);
    std::string failed;
    if (del)
      CHECK(parent.terminate({.on_settled = [&](const StopReport& r) { failed = joined(r.abandoned); }})
                .accepted());
    else
      CHECK(
          parent.stop({.on_settled = [&](const StopReport& r) { failed = joined(r.abandoned); }}).accepted());
    t.settle();
    CHECK(t.state("parent") == (del ? AgentState::terminating : AgentState::stopping));
    CHECK(failed.empty());
    t.advance(seconds(1));
    CHECK(t.tree->busy());
    t.advance(seconds(1));
    CHECK(failed == "deaf");
    CHECK(t.logged("warning an operation of a stopped agent did not end in time"));
    CHECK(t.logged("agent=deaf"));
    CHECK(t.seen.count(std::string("settled deaf ") + (del ? "terminating" : "stopped") + " abandoned") == 1);
    CHECK(t.tree->size() == (del ? 0 : 3));
    CHECK_FALSE(t.tree->busy());
    t.seen.clear();
    t.llm->delta("deaf", "very");
    t.llm->answer("deaf", "late");
    t.settle();
    CHECK(t.seen.lines.empty());
    if (!del) CHECK(written(deaf.conversation().value()) == "user:question!stopped");
  }
}

TEST_CASE("each verb can set its own grace period", "[tree][X12]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent a = t.root("a");
  const Agent b = t.root("b");
  t.ask(a);
  t.ask(b);
  CHECK(a.stop({.grace = seconds(60)}).took_effect());
  CHECK(b.stop({.grace = Duration(0)}).took_effect());
  t.settle();
  CHECK(t.state("b") == AgentState::stopped);
  t.advance(seconds(59));
  CHECK(t.state("a") == AgentState::stopping);
  CHECK(a.terminate({.grace = Duration(0)}).took_effect());
  t.settle();
  CHECK_FALSE(a.exists());
}

TEST_CASE("an agent resumed after an abandoned call receives nothing of that call", "[tree][G3][G7]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent, "one");
  CHECK(agent.stop({.grace = Duration(0)}).took_effect());
  t.settle();
  CHECK(agent.resume().took_effect());
  t.ask(agent, "two");
  FakeClient::finish(t.llm->call(0), ChatOutcome::completed(FinishReason::complete));
  CHECK(t.state("a") == AgentState::waiting_llm);
  t.llm->answer("a", "answer");
  t.settle();
  CHECK(written(agent.conversation().value()) == "user:one!stopped, user:two, assistant:answer");
}

TEST_CASE("a hundred thousand agents are created and deleted in bounded memory", "[tree][G13]") {
  TreeFixture t({}, false);
  t.seen.unwatch();
  for (int round = 0; round < 100; ++round) {
    const Agent top = t.root("top");
    Agent chain = top;
    for (int i = 0; i < 50; ++i) chain = i % 2 ? top.create_child().value() : chain.create_child().value();
    CHECK(top.terminate().took_effect());
    t.settle();
    REQUIRE(t.tree->size() == 0);
  }
  CHECK(t.root("last").id() == "last");
  CHECK(t.tree->create().value().id().find("@") == 0);
}

TEST_CASE("a scope deletes or stops the agents that were created in it", "[tree][scope][CARD3]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  {
    TerminateScope scope{parent};
    const Agent a = scope.create({.id = "a"}).value();
    t.child(a, "below");
    CHECK(a.parent().value() == parent);
    CHECK(scope.size() == 1);
    TerminateScope stops{*t.tree, StopVerb::stop};
    CHECK(stops.create({.id = "s"}).has_value());
    CHECK(stops.attach(parent.create_child({.id = "p"}).value()));
    CHECK(stops.size() == 2);
  }
  CHECK(t.state("a") == AgentState::terminating);
  CHECK(t.state("s") == AgentState::stopping);
  t.settle();
  CHECK(t.tree->size() == 3);
  CHECK(t.state("s") == AgentState::stopped);
  CHECK(t.state("p") == AgentState::stopped);
}

TEST_CASE("a closed or released or moved-from scope does nothing more", "[tree][scope]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  TerminateScope closed{parent};
  closed.close();
  closed.close();
  CHECK_FALSE(closed.is_open());
  CHECK(closed.create().error().code == Errc::agent_not_found);
  CHECK_FALSE(closed.attach(parent));
  TerminateScope from{parent};
  const Agent a = from.create({.id = "a"}).value();
  const Agent b = from.create({.id = "b"}).value();
  CHECK(from.attach(a));  // twice is once
  TerminateScope to{std::move(from)};
  CHECK_FALSE(from.is_open());  // NOLINT: what a moved-from scope is, is promised
  CHECK(from.create().error().code == Errc::agent_not_found);
  CHECK(to.release() == std::vector<Agent>{a, b});
  CHECK_FALSE(to.is_open());
  TerminateScope first{parent};
  const Agent c = first.create({.id = "c"}).value();
  TerminateScope second{parent};
  const Agent d = second.create({.id = "d"}).value();
  first = std::move(second);  // closes what it held
  CHECK(t.state("c") == AgentState::terminating);
  CHECK(t.state("d") == AgentState::idle);
  t.settle();
  CHECK((a.exists() && b.exists() && !c.exists() && d.exists()));
}

TEST_CASE("a moved scope has the policy of the other one", "[tree][scope]") {
  TreeFixture t;
  const bool deletes = GENERATE(true, false);
  const StopVerb mine = deletes ? StopVerb::terminate : StopVerb::stop;
  const StopVerb other = deletes ? StopVerb::stop : StopVerb::terminate;
  const AgentState ended = deletes ? AgentState::terminating : AgentState::stopping;
  const AgentState ended_by_other = deletes ? AgentState::stopping : AgentState::terminating;
  TerminateScope from{*t.tree, mine};
  CHECK(from.create({.id = "a"}).has_value());
  { const TerminateScope made{std::move(from)}; }
  CHECK(t.state("a") == ended);
  TerminateScope source{*t.tree, mine};
  CHECK(source.create({.id = "b"}).has_value());
  {
    TerminateScope target{*t.tree, other};
    CHECK(target.create({.id = "c"}).has_value());
    target = std::move(source);
    CHECK(t.state("c") == ended_by_other);  // by the policy that it had
    CHECK(t.state("b") == AgentState::idle);
  }
  CHECK(t.state("b") == ended);
}

TEST_CASE("a long-lived scope forgets deleted agents", "[tree][scope][G13]") {
  TreeFixture t;
  TerminateScope scope(*t.tree);
  const Agent stays = scope.create().value();
  for (int i = 0; i < 1000; ++i) {
    CHECK(scope.create()->terminate().took_effect());
    t.settle();
  }
  CHECK(scope.size() < 10);
  scope.close();
  t.settle();
  CHECK_FALSE(stays.exists());
}

TEST_CASE("scopes nest and refuse agents of other scopes", "[tree][scope][CARD3]") {
  TreeFixture t;
  TreeFixture elsewhere;
  const Agent stranger = elsewhere.root("stranger");
  TerminateScope outer{*t.tree};
  const Agent a = outer.create({.id = "a"}).value();
  CHECK_FALSE(outer.attach(stranger));
  {
    TerminateScope inner{a};
    const Agent b = inner.create({.id = "b"}).value();
    CHECK(b.terminate().took_effect());
    t.settle();
    CHECK_FALSE(outer.attach(b));
    outer.close();
  }
  t.settle();
  CHECK(t.tree->size() == 0);
}

TEST_CASE("a scope may be closed and destroyed in a callback of its own close", "[tree][scope][Q3]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::at_once;
  auto scope = std::make_unique<TerminateScope>(*t.tree);
  for (const char* const id : {"a", "b", "c"}) t.ask(scope->create({.id = id}).value());
  const auto hook = t.tree->on_event([&](const Event& event) {
    if (event.get<TurnEnded>()) scope.reset();
  });
  scope->close();
  t.settle();
  CHECK(t.tree->size() == 0);
}

TEST_CASE("a scope that ends while it creates an agent has that agent", "[tree][scope][G1][Q3]") {
  TreeFixture t;
  auto scope = std::make_unique<TerminateScope>(*t.tree, StopVerb::stop);
  TerminateScope other{Agent()};
  std::vector<Agent> released;
  std::function<void()> end;
  bool stops = true;
  SECTION("it is closed") {
    end = [&] { scope->close(); };
  }
  SECTION("it is destroyed") {
    end = [&] { scope.reset(); };
  }
  SECTION("another one takes it over, and is closed") {
    end = [&] {
      other = std::move(*scope);
      other.close();
    };
  }
  SECTION("it is released") {
    stops = false;
    end = [&] { released = scope->release(); };
  }
  const auto hook = t.tree->on<AgentCreated>([&](const AgentCreated&) { end(); });
  const Agent made = scope->create({.id = "a"}).value();
  CHECK(t.state("a") == (stops ? AgentState::stopping : AgentState::idle));
  CHECK(released == (stops ? std::vector<Agent>() : std::vector{made}));
  if (scope) {
    CHECK(scope->size() == 0);
    scope.reset();
  }
  CHECK(t.state("a") == (stops ? AgentState::stopping : AgentState::idle));
}

TEST_CASE("the grace period of an earlier stop says nothing about a later one", "[tree][stop][X12][G4]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent a = t.root("a"), b = t.root("b");
  std::vector<std::vector<std::string>> abandoned;
  const auto stop = [&](const Agent& agent, bool cascade, Duration grace) {
    CHECK(agent
              .stop({.scope = cascade ? Scope::subtree : Scope::agent,
                     .grace = grace,
                     .on_settled = [&](const StopReport& report) { abandoned.push_back(report.abandoned); }})
              .took_effect());
    t.settle();
  };
  const bool cascade = GENERATE(true, false);
  t.ask(a);
  stop(a, cascade, seconds(1));
  t.advance(seconds(1));
  REQUIRE(abandoned == std::vector<std::vector<std::string>>{{"a"}});
  CHECK(a.resume().took_effect());
  t.settle();
  t.ask(a);
  t.ask(b);
  stop(a, cascade, seconds(60));
  stop(b, true, seconds(1));
  t.advance(seconds(1));  // the calls of all agents are looked at
  CHECK(t.state("b") == AgentState::stopped);
  CHECK(t.state("a") == AgentState::stopping);
  CHECK(t.seen.count("abandoned a") == 1);
  t.llm->answer("a", "late");
  t.settle();
  // Nor is it named for what the earlier one gave up.
  REQUIRE(abandoned.size() == 3);
  CHECK(abandoned[2].empty());
}

TEST_CASE("a delete gives the calls of the forks the grace period of the delete",
          "[tree][delete][fork][X12]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  const Agent copy = agent.fork({.id = "copy"}).value();
  t.ask(copy);
  CHECK(agent.terminate({.grace = seconds(1), .scope = Scope::with_forks}).took_effect());
  t.settle();
  CHECK(copy.exists());
  t.advance(seconds(1));
  CHECK_FALSE(copy.exists());
}
