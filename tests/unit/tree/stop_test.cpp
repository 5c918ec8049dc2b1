// Stop: the gate closes at once, the rest settles.
#include "support/drive/tree_fixture.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a stop closes the whole subtree before it returns",
          "[tree][C9][C17][E1][G1][B8][S1-P8][C15][C1]") {
  TreeFixture t;
  const Agent top = t.root("top");
  const Agent parent = t.child(top, "parent");
  const Agent child = t.child(parent, "child");
  const Agent other = t.child(top, "other");
  t.ask(child);
  const VerbResult result = parent.stop();
  CHECK((result.accepted() && result.took_effect() && result.quiet && result.reason == Errc::none));
  CHECK(t.state("parent") == AgentState::stopping);
  CHECK(t.state("child") == AgentState::stopping);
  CHECK(t.state("other") == AgentState::idle);
  CHECK(t.state("top") == AgentState::idle);
  CHECK(t.llm->call(0).stop.stop_requested());  // C1
  t.settle();
  CHECK(t.state("parent") == AgentState::stopped);
  CHECK(t.state("child") == AgentState::stopped);
  CHECK(other.send("x").accepted());
}

TEST_CASE("a stopped agent reports stopping and stopped and never idle",
          "[tree][X2][B9][C5][C11][C16][S1-P2][B20]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.send("waiting").accepted());
  t.seen.clear();
  const auto order = t.tree->on<StateChanged>([&](const StateChanged& change) {
    CHECK(t.llm->call(0).stop.stop_requested());
    if (change.to == AgentState::stopped) CHECK(agent.queue_length().value() == 0);
  });
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(t.seen.lines == std::vector<std::string>{"ended a 1 stopped", "a waiting_llm>stopping",
                                                 "a stopping>stopped", "dropped a waiting stopped",
                                                 "settled a stopped"});
  CHECK(written(agent.conversation().value()) == "user:question!stopped");
}

TEST_CASE("an idle agent can be stopped", "[tree][X28][T3]") {
  TreeFixture t;
  CHECK(t.root("a").stop().took_effect());
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
}

TEST_CASE("an agent in its handler stops itself", "[tree][Q3][G1][G4][F2]") {
  TreeFixture t;
  VerbResult result;
  const Agent agent = t.root("a", {.handler = [&](const Agent& self, const Message&) {
                               result = self.stop();
                               CHECK(self.state().value() == AgentState::stopping);
                             }});
  CHECK(agent.send("1").accepted());
  CHECK(agent.send("2").accepted());
  t.settle();
  CHECK((result.took_effect() && result.quiet));
  CHECK(t.seen.count("started") == 1);
  CHECK(t.seen.count("ended a 1 stopped") == 1);
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(agent.queue_length().value() == 0);
}

TEST_CASE("a stop empties the mailboxes and puts no message into them",
          "[tree][C3][C8][G11][E4][S1-P3][S1-P5][F2]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  const Agent other = t.root("other");
  CHECK(child.send("1").accepted());
  CHECK(child.send("2").accepted());
  CHECK(parent.send("3").accepted());
  std::optional<StopReport> report;
  CHECK(parent.stop({.reason = "why", .on_settled = [&](const StopReport& r) { report = r; }}).took_effect());
  t.settle();
  REQUIRE(report);
  CHECK(report->agent_id == "parent");
  CHECK(report->reason == "why");
  CHECK(report->cause == StopCause::user);
  CHECK(report->messages_dropped == 3);
  CHECK(report->descendants == std::vector<std::string>{"child"});
  CHECK(report->abandoned.empty());
  CHECK((child.queue_length().value() == 0 && parent.queue_length().value() == 0 &&
         other.queue_length().value() == 0));
  CHECK(t.llm->calls() == 0);
}

TEST_CASE("a stop of a stopping agent returns its state", "[tree][C12][C20][S1-P11]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(parent.stop().took_effect());
  for (const Agent& agent : {parent, child}) {
    const VerbResult again = agent.stop();
    CHECK((again.accepted() && !again.took_effect() && again.reason == Errc::agent_stopping));
  }
  t.settle();
  for (const Agent& agent : {parent, child}) {
    const VerbResult again = agent.stop();
    CHECK((again.accepted() && !again.took_effect() && again.reason == Errc::agent_stopped));
  }
  t.settle();
  CHECK(t.seen.count("settled") == 2);
}

TEST_CASE("a second stop can wait for the first", "[tree][X32]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent);
  int reports = 0;
  const auto count = [&](const StopReport&) { ++reports; };
  CHECK(agent.stop({.on_settled = count}).took_effect());
  CHECK(agent.stop({.on_settled = count}).reason == Errc::agent_stopping);
  t.settle();
  CHECK(reports == 0);
  t.llm->answer("a", "late");
  t.settle();
  CHECK(reports == 2);
}

TEST_CASE("a stop takes effect before an answer that arrives with it", "[tree][C13][C4][C23][S1-P13]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent);
  t.runtime->post([&] { t.llm->answer("a", "too late"); });
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(written(agent.conversation().value()) == "user:question!stopped");
  CHECK(t.seen.count("ended a 1 stopped") == 1);
  CHECK(t.seen.count("discarded a 1 answer") == 1);
  CHECK(t.seen.index("discarded a 1 answer") < t.seen.index("settled a stopped"));
}

TEST_CASE("a stop of one agent alone does not stop its children", "[tree][X12]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(parent.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(t.state("parent") == AgentState::stopped);
  CHECK(t.state("child") == AgentState::idle);
  CHECK(child.create_child().has_value());
  CHECK(parent.create_child().error().code == Errc::agent_stopped);
  t.ask(child);
}

TEST_CASE("Settled is reported once per agent and children first", "[tree][G4][X14][S1-P10]") {
  TreeFixture t;
  const Agent a = t.root("a");
  const Agent b = t.child(a, "b");
  t.child(b, "d");
  t.child(b, "e");
  t.child(a, "c");
  t.seen.clear();
  CHECK(a.stop().took_effect());
  t.settle();
  CHECK(t.seen.count("settled") == 5);
  CHECK(t.seen.index("settled d stopped") < t.seen.index("settled b stopped"));
  CHECK(t.seen.index("settled e stopped") < t.seen.index("settled b stopped"));
  CHECK(t.seen.index("settled b stopped") < t.seen.index("settled a stopped"));
  CHECK(t.seen.index("settled c stopped") < t.seen.index("settled a stopped"));
  CHECK(t.seen.index("a idle>stopping") < t.seen.index("b idle>stopping"));  // top down
  CHECK(t.seen.index("b idle>stopping") < t.seen.index("settled d stopped"));
}

TEST_CASE("a shutdown stops all agents within its deadline and deletes none", "[tree][Q7]") {
  TreeFixture t;
  const Agent deaf = t.root("deaf");
  t.root("idle");
  t.llm->on_stop = OnStop::deaf;
  t.ask(deaf);
  std::optional<StopReport> report;
  StopOptions options;
  options.cause = StopCause::shutdown;
  options.grace = std::chrono::seconds(1);
  options.on_settled = [&](const StopReport& r) { report = r; };
  CHECK(t.tree->stop_all(std::move(options)).took_effect());
  t.settle();
  CHECK_FALSE(report);
  t.advance(std::chrono::seconds(1));
  REQUIRE(report);
  CHECK(report->abandoned == std::vector<std::string>{"deaf"});
  CHECK(t.state("deaf") == AgentState::stopped);
  CHECK(t.state("idle") == AgentState::stopped);
  CHECK(t.tree->size() == 2);
}

TEST_CASE("stop_all and resume_all cover all agents", "[tree][X4]") {
  TreeFixture t;
  const Agent a = t.root("a");
  const Agent b = t.root("b");
  t.ask(b);
  std::optional<StopReport> report;
  StopOptions options;
  options.cause = StopCause::shutdown;
  options.on_settled = [&](const StopReport& r) { report = r; };
  CHECK(t.tree->stop_all(std::move(options)).took_effect());
  CHECK(t.tree->create().error().code == Errc::agent_stopping);
  CHECK(t.tree->stop_all().reason == Errc::agent_stopping);
  CHECK(t.tree->resume_all().reason == Errc::agent_stopping);
  t.settle();
  REQUIRE(report);
  CHECK(report->agent_id.empty());
  CHECK(report->cause == StopCause::shutdown);
  CHECK(report->descendants.size() == 2);
  CHECK(t.tree->create().error().code == Errc::agent_stopped);
  CHECK(a.resume().reason == Errc::parent_stopped);
  CHECK(t.tree->resume_all().took_effect());
  t.settle();
  CHECK(t.state("a") == AgentState::idle);
  CHECK(t.state("b") == AgentState::idle);
  CHECK(t.tree->resume_all().reason == Errc::not_stopped);
  CHECK(t.tree->create().has_value());
}

TEST_CASE("a resume of all leaves the decision below a stopped agent to the resume of that agent",
          "[tree][X4][G3]") {
  for (const bool cascade : {true, false}) {
    TreeFixture t;
    const Agent parent = t.root("parent");
    t.child(parent, "child");
    REQUIRE(parent.stop().took_effect());
    REQUIRE(t.tree->stop_all().took_effect());
    t.settle();
    REQUIRE(t.tree->resume_all().took_effect());
    REQUIRE(parent.resume({.scope = cascade ? Scope::subtree : Scope::agent}).took_effect());
    t.settle();
    CHECK(t.state("parent") == AgentState::idle);
    CHECK(t.state("child") == (cascade ? AgentState::idle : AgentState::stopped));
  }
}

TEST_CASE("a resume of all reopens what it stopped below an agent that was stopped alone", "[tree][X4][G3]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  t.child(parent, "child");
  REQUIRE(parent.stop({.scope = Scope::agent}).took_effect());
  REQUIRE(t.tree->stop_all().took_effect());
  t.settle();
  REQUIRE(t.tree->resume_all().took_effect());
  REQUIRE(parent.resume({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(t.state("child") == AgentState::idle);
}

TEST_CASE("stopping an empty tree settles too", "[tree]") {
  TreeFixture t;
  bool settled = false;
  CHECK(t.tree->stop_all({.on_settled = [&](const StopReport&) { settled = true; }}).took_effect());
  t.settle();
  CHECK(settled);
}

TEST_CASE("resume resumes only the agents that stopped with it", "[tree][X4][G3]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  const Agent sticky = t.child(parent, "sticky");
  t.child(sticky, "below");
  CHECK(sticky.stop().took_effect());
  t.settle();
  CHECK(parent.stop().took_effect());
  CHECK(parent.resume().reason == Errc::agent_stopping);
  t.settle();
  CHECK(child.resume().reason == Errc::parent_stopped);
  const VerbResult result = parent.resume();
  CHECK((result.accepted() && result.took_effect()));
  CHECK(t.state("parent") == AgentState::idle);
  t.settle();
  CHECK(t.state("child") == AgentState::idle);
  CHECK(t.state("sticky") == AgentState::stopped);
  CHECK(t.state("below") == AgentState::stopped);
  CHECK(sticky.resume().took_effect());
  t.settle();
  CHECK(t.state("below") == AgentState::idle);
  CHECK(parent.resume().reason == Errc::not_stopped);
  t.ask(child);
}

TEST_CASE("a resume of an ancestor does not undo a stop that comes after it", "[tree][X4][G3][lease]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  AgentSpec spec;
  spec.limits.lease = std::chrono::seconds(10);
  const Agent child = t.child(parent, "child", spec);
  const Agent below = t.child(child, "below");
  CHECK(parent.stop().took_effect());
  t.settle();
  CHECK(parent.resume().took_effect());
  SECTION("the child is stopped") {
    CHECK(child.stop().reason == Errc::agent_stopped);  // the loop has not yet resumed it
  }
  SECTION("all descendants are stopped") {
    CHECK(parent.stop({.scope = Scope::descendants}).reason == Errc::agent_stopped);
  }
  t.settle();
  CHECK(t.state("parent") == AgentState::idle);
  CHECK(t.state("child") == AgentState::stopped);
  CHECK(t.state("below") == AgentState::stopped);
  CHECK(child.resume().took_effect());
  t.settle();
  CHECK(t.state("child") == AgentState::idle);
  // A later stop of the parent, and its resume, concern the child again.
  CHECK(parent.stop().took_effect());
  t.settle();
  CHECK(parent.resume().took_effect());
  t.settle();
  CHECK(t.state("child") == AgentState::idle);
}

TEST_CASE("a stop of an agent that its parent has stopped outlasts the resume of the parent",
          "[tree][X4][G3]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  const Agent sibling = t.child(parent, "sibling");
  CHECK(parent.stop().took_effect());
  SECTION("while it is stopping") {
    CHECK(child.stop().reason == Errc::agent_stopping);
    t.settle();
  }
  SECTION("when it is stopped") {
    t.settle();
    CHECK(child.stop().reason == Errc::agent_stopped);
  }
  CHECK(parent.resume().took_effect());
  t.settle();
  CHECK(t.state("child") == AgentState::stopped);
  CHECK(t.state("sibling") == AgentState::idle);
}

TEST_CASE("a stop that found its agent stopped does not concern the next agent of the slot",
          "[tree][G7][X4]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(parent.stop().took_effect());
  t.settle();
  CHECK(child.stop().reason == Errc::agent_stopped);
  CHECK(child.terminate().took_effect());
  t.settle();
  CHECK(parent.resume().took_effect());
  t.settle();
  t.child(parent, "next");
  CHECK(parent.stop().took_effect());
  t.settle();
  CHECK(parent.resume().took_effect());
  t.settle();
  CHECK(t.state("next") == AgentState::idle);
}

TEST_CASE("a resume of one agent leaves its children stopped", "[tree][X4]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(parent.stop().took_effect());
  t.settle();
  CHECK(parent.resume({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(t.state("child") == AgentState::stopped);
  CHECK(child.resume().took_effect());
  t.settle();
  CHECK(t.state("child") == AgentState::idle);
}

TEST_CASE("agents stop and delete their own children only", "[tree][X10][X12][C19][D13]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  const Agent grandchild = t.child(child, "grandchild");
  for (const char* const caller : {"grandchild", "child", "nobody", "parent"}) {
    const bool own = std::string(caller) == "child";
    const VerbResult stop = grandchild.stop({.caller = caller});
    CHECK(stop.accepted() == own);
    CHECK((own || stop.reason == Errc::not_child_agent));
  }
  CHECK(child.stop({.caller = "child"}).reason == Errc::not_child_agent);
  CHECK(parent.terminate({.caller = "child"}).reason == Errc::not_child_agent);
  CHECK(child.terminate({.caller = "parent"}).took_effect());
  t.settle();
  CHECK(t.tree->size() == 1);
}

TEST_CASE("protected agents refuse direct verbs but not those of their ancestors", "[tree][X10]") {
  TreeFixture t;
  const Agent top = t.root("top");
  const Agent system = t.child(top, "system", {.role = AgentRole::system});
  const Agent user = t.child(top, "user", {.role = AgentRole::user});
  CHECK(system.terminate().reason == Errc::cannot_delete_system_agent);
  CHECK(user.terminate().reason == Errc::cannot_delete_system_agent);
  CHECK(user.stop().reason == Errc::cannot_stop_user);
  CHECK_FALSE(user.stop().accepted());
  CHECK(t.state("user") == AgentState::idle);
  CHECK(system.stop().took_effect());
  t.settle();
  CHECK(t.state("system") == AgentState::stopped);
  CHECK(top.terminate().took_effect());
  t.settle();
  CHECK(t.tree->size() == 0);
}

TEST_CASE("a stop says whether the loop was inside an action of what it stops", "[tree][G1]") {
  TreeFixture t;
  struct Quiet {
    bool same = true, parent = true, other = false, from_inside = false;
  } quiet;
  const auto elsewhere = [](const Agent& agent) {
    bool result = false;
    std::thread([&] { result = agent.stop().quiet; }).join();
    return result;
  };
  const Agent other = t.root("other");
  const Agent inner = t.root("inner");
  const Agent parent = t.root("parent");
  const Agent agent = t.child(parent, "a", {.handler = [&](const Agent& self, const Message&) {
                                quiet.from_inside = inner.stop().quiet;
                                quiet.other = elsewhere(other);
                                quiet.same = elsewhere(self);
                                quiet.parent = elsewhere(parent);
                              }});
  REQUIRE(agent.send("x").accepted());
  t.settle();
  CHECK_FALSE(quiet.same);
  CHECK_FALSE(quiet.parent);
  CHECK(quiet.other);
  CHECK(quiet.from_inside);
  // Between actions every stop is quiet.
  const Agent idle = t.root("idle");
  CHECK(elsewhere(idle));
  t.settle();
}

TEST_CASE("a delete says whether the loop was inside an action of what it deletes", "[tree][G1]") {
  TreeFixture t;
  bool quiet = true;
  const Agent agent = t.root("a", {.handler = [&](const Agent& self, const Message&) {
                               std::thread([&] { quiet = self.terminate().quiet; }).join();
                             }});
  REQUIRE(agent.send("x").accepted());
  t.settle();
  CHECK_FALSE(quiet);
  CHECK(t.tree->size() == 0);
}

TEST_CASE("abandoning calls keeps to the budget of a poll", "[tree][C13][G4][G15]") {
  TreeOptions options;
  options.stop_grace = std::chrono::seconds(5);
  TreeFixture t(options, false);
  t.llm->on_stop = OnStop::deaf;
  constexpr std::size_t count = 300;
  const Agent parent = t.root("parent");
  for (std::size_t i = 0; i < count; ++i)
    REQUIRE(t.child(parent, "c" + std::to_string(i)).send("x").accepted());
  t.settle();
  REQUIRE(t.llm->calls() == count);
  std::optional<StopReport> report;
  REQUIRE(parent.stop({.on_settled = [&](const StopReport& told) { report = told; }}).took_effect());
  t.settle();
  t.clock.advance(std::chrono::seconds(6));
  t.clock.set_tick(std::chrono::milliseconds(1));  // a few looks at the clock, and a poll is over
  std::size_t polls = 0, most = 0, before = 0;
  while (!report && polls < 10'000) {
    t.poll();
    ++polls;
    const std::size_t now = t.seen.count("abandoned");
    most = std::max(most, now - before);
    before = now;
  }
  t.clock.set_tick(Duration(0));
  t.settle();
  CHECK(before == count);
  CHECK(most < count);
  CHECK(polls > 2);
  REQUIRE(report);
  CHECK(report->abandoned.size() == count);
  CHECK(t.state("parent") == AgentState::stopped);
  CHECK(t.seen.count("settled") == count + 1);
}

TEST_CASE("a stop of the second agent of a round is not quiet during its action", "[tree][stop][G1]") {
  TreeFixture t;
  Agent second;
  std::optional<bool> quiet;
  const auto stop_second = [&](const Agent& agent, const Message&) {
    if (agent.id() != second.id()) return;
    std::thread([&] { quiet = second.stop().quiet; }).join();
  };
  const Agent first = t.tree->create({.id = "first", .handler = stop_second}).value();
  second = t.tree->create({.id = "second", .handler = stop_second}).value();
  CHECK(first.send("one"));
  CHECK(second.send("two"));
  t.settle();
  CHECK(quiet == false);
}

TEST_CASE("a verb that finds nothing to do says whether an action runs", "[tree][G1][threads]") {
  TreeFixture t;
  std::optional<Agent> self, parent;
  std::vector<VerbResult> inside;
  const auto call_all = [&](std::vector<VerbResult>& results) {
    results = {self->stop(),      parent->stop({.scope = Scope::descendants}),
               self->interrupt(), self->interrupt({.scope = Scope::subtree}),
               parent->pause(),   self->terminate(),
               self->terminate()};
  };
  parent = t.root("parent");
  AgentSpec spec;
  spec.handler = [&](const Agent&, const Message&) {
    static_cast<void>(parent->pause());
    static_cast<void>(self->stop());
    std::thread([&] { call_all(inside); }).join();
  };
  self = t.child(*parent, "self", std::move(spec));
  REQUIRE(self->send("go").accepted());
  t.settle();
  REQUIRE(inside.size() == 7);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    CAPTURE(i, to_string(inside[i].status), to_string(inside[i].reason));
    CHECK_FALSE(inside[i].quiet);
  }
  CHECK(std::count_if(inside.begin(), inside.end(),
                      [](const VerbResult& result) { return result.status == VerbStatus::no_effect; }) == 6);
}

TEST_CASE("the resume of an agent that was stopped alone opens none that another stop has stopped",
          "[tree][X4][G3]") {
  TreeFixture t;
  const Agent top = t.root("top"), middle = t.child(top, "middle"), leaf = t.child(middle, "leaf");
  CHECK(middle.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(top.stop().took_effect());
  t.settle();
  CHECK(top.resume({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(middle.resume().took_effect());
  t.settle();
  CHECK(t.state("middle") == AgentState::idle);
  CHECK(t.state("leaf") == AgentState::stopped);
  CHECK(leaf.resume().took_effect());
}
