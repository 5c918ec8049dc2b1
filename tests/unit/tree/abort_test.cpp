// Abort: the call ends, the agent goes on.
#include "support/drive/tree_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("an abort ends the call and leaves the agent usable",
          "[tree][A10][A14][A17][X1][B12][S0-P3][A15][C2][B19]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent, "one");
  const VerbResult result = agent.abort({.reason = "enough"});
  CHECK((result.accepted() && result.took_effect() && result.reason == Errc::none));
  CHECK(t.state("a") == AgentState::idle);
  CHECK(t.llm->call(0).stop.stop_requested());
  CHECK(agent.send("two").accepted());
  t.settle();
  CHECK(t.state("a") == AgentState::waiting_llm);
  t.llm->answer("a", "answer");
  t.settle();
  CHECK(written(agent.conversation().value()) == "user:one!aborted, user:two, assistant:answer");
  CHECK(t.seen.index("ended a 1 aborted") < t.seen.index("started a 2"));
  // The words and the key `agentId` are A15's; the key of all other records is `agent`.
  CHECK(t.log ==
        std::vector<std::string>{"info a model call was aborted (LLM 调用已中断) agentId=a reason=enough"});
}

TEST_CASE("an abort without a call changes nothing", "[tree][A13][A20][S0-P4]") {
  TreeFixture t;
  VerbResult inside;
  const Agent handler =
      t.root("handler", {.handler = [&](const Agent& self, const Message&) { inside = self.abort(); }});
  const Agent idle = t.root("idle");
  const Agent stopped = t.root("stopped");
  CHECK(stopped.stop().took_effect());
  CHECK(handler.send("x").accepted());
  for (const Agent& agent : {idle, stopped, handler}) {
    const auto before = agent.state().value();
    const VerbResult result = agent.abort();
    CHECK((result.accepted() && !result.took_effect() && result.reason == Errc::not_waiting_llm));
    CHECK(agent.state().value() == before);
  }
  t.settle();
  CHECK((inside.accepted() && !inside.took_effect() && inside.reason == Errc::not_waiting_llm));
  CHECK(handler.queue_length().value() == 0);
  CHECK(stopped.abort().reason == Errc::not_waiting_llm);
}

TEST_CASE("an abort keeps the queue or drops its messages", "[tree][X3]") {
  for (const bool clear : {false, true}) {
    TreeFixture t;
    const Agent agent = t.root("a");
    t.ask(agent, "one");
    CHECK(agent.send("two").accepted());
    CHECK(agent.send("three").accepted());
    CHECK(agent.abort({.queue = clear ? QueueAction::drop : QueueAction::deliver}).took_effect());
    CHECK(agent.send("four").accepted());
    t.settle();
    CHECK(t.llm->find("a")->request.messages.back().content() == (clear ? "four" : "two"));
    CHECK(agent.queue_length().value() == (clear ? 0U : 2U));
  }
}

TEST_CASE("an abort and a new call and another abort work in one tick", "[tree][X11][S0-P2]") {
  for (const OnStop how : {OnStop::post, OnStop::at_once, OnStop::deaf}) {
    TreeFixture t;
    t.llm->on_stop = how;
    const Agent agent = t.root("a");
    t.ask(agent, "one");
    CHECK(agent.send("two").accepted());
    CHECK(agent.abort().took_effect());
    CHECK(agent.abort().reason == Errc::not_waiting_llm);
    t.poll();
    REQUIRE(t.state("a") == AgentState::waiting_llm);
    CHECK_FALSE(t.llm->call(1).stop.stop_requested());
    CHECK(agent.abort().took_effect());
    CHECK(t.llm->call(1).stop.stop_requested());
    t.settle();
    CHECK(joined(t.seen.with("ended")) == "ended a 1 aborted ended a 2 aborted");
  }
}

TEST_CASE("results of a client that ignores an abort are dropped", "[tree][A19][C4][F6][F7][S0-P5]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent, "one");
  t.llm->delta("a", "partial");
  CHECK(agent.abort().took_effect());
  t.settle();
  t.llm->delta("a", "late");
  t.llm->answer("a", "later");
  t.settle();
  CHECK(written(agent.conversation().value()) == "user:one!aborted");
  CHECK(joined(t.seen.with("delta")) == "delta a 1 partial");
  CHECK(t.seen.count("discarded a 1 answer") == 1);
  CHECK(t.logged("late result discarded agent=a kind=answer"));
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("an abort from inside a delta ends the turn there", "[tree][Q3][A19]") {
  for (const OnStop how : {OnStop::post, OnStop::at_once}) {
    TreeFixture t;
    t.llm->on_stop = how;
    const Agent agent = t.root("a");
    const auto hook = t.tree->on_event([&](const Event& event) {
      if (event.get<DeltaReceived>()) CHECK(agent.abort().took_effect());
    });
    t.ask(agent, "one");
    t.llm->delta("a", "first");
    t.llm->delta("a", "second");
    t.settle();
    CHECK(t.seen.count("delta") == 1);
    CHECK(t.seen.count("ended a 1 aborted") == 1);
    CHECK(written(agent.conversation().value()) == "user:one!aborted");
  }
}

TEST_CASE("an abort followed by a stop in the same tick is a stop", "[tree][X2]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent, "one");
  CHECK(agent.abort().took_effect());
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(written(agent.conversation().value()) == "user:one!stopped");
  CHECK(t.seen.count("ended") == 1);
}

TEST_CASE("an agent whose parent is stopped by an observer of its aborted turn never reports idle",
          "[tree][X2]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent agent = t.child(parent, "a");
  const auto hook = t.tree->on_event([&](const Event& event) {
    if (event.get<TurnEnded>()) CHECK(parent.stop().took_effect());
  });
  t.ask(agent, "one");
  t.seen.clear();
  CHECK(agent.abort().took_effect());
  t.settle();
  CHECK(t.seen.count("ended a 1 aborted") == 1);
  CHECK(t.seen.count("a waiting_llm>idle") == 0);
  CHECK(t.seen.count("a waiting_llm>stopping") == 1);
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("an abort between the state and the call ends the turn", "[tree][A16][X43]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  VerbResult aborted;
  auto states = t.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.to == AgentState::waiting_llm) aborted = agent.abort();
  });
  CHECK(agent.send("one"));
  t.settle();
  CHECK(aborted.took_effect());
  CHECK(t.llm->calls() == 0);
  CHECK(t.state("a") == AgentState::idle);
  CHECK(t.seen.count("ended a 1 aborted") == 1);
  states.reset();
  t.ask(agent, "two");
}

TEST_CASE("an abort after the call has ended changes nothing", "[tree][A16][X43]") {
  // The last text of an answer is held back until the call has ended, because it could begin a tool call.
  TreeFixture t;
  auto tools = std::make_shared<ToolRegistry>();
  const Agent agent = t.root("a", {.tools = tools, .tool_protocol = ToolProtocol::text});
  std::optional<VerbResult> aborted;
  AgentState during = AgentState::idle;
  const auto deltas = t.tree->on<DeltaReceived>([&](const DeltaReceived& delta) {
    if (t.llm->call(0).open()) return;
    CHECK(delta.text == "<");
    aborted = agent.abort();
    during = agent.state().value();
  });
  t.ask(agent);
  t.llm->delta("a", "less than: <");
  t.llm->complete(t.llm->call(0));
  t.settle();
  REQUIRE(aborted);
  CHECK(aborted->status == VerbStatus::no_effect);
  CHECK(aborted->reason == Errc::not_waiting_llm);
  CHECK(during == AgentState::processing);
  CHECK(t.seen.count("ended a 1 completed") == 1);
}
