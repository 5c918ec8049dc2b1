// Agent::busy(): from the accepted message to the end of its turn.
#include "support/drive/tool_turn.hpp"

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("an agent is busy from the accepted message to the end of its turn", "[tree][busy][Q8]") {
  ToolTurn t;
  const Agent agent = t.agent();
  CHECK_FALSE(agent.busy());
  CHECK(agent.send(Message{}).reason == Errc::empty_message);
  CHECK_FALSE(agent.busy());
  REQUIRE(agent.send("question"));
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(agent.busy());
  t.settle();
  CHECK(agent.busy());
  t.call({{.id = "x", .name = "held"}});
  CHECK(agent.busy());
  t.held.calls.at(0).done(ToolResult::done("result"));
  t.settle();
  t.answer("words");
  CHECK_FALSE(agent.busy());
}

TEST_CASE("an agent is busy while a message waits, whatever keeps it waiting", "[tree][busy]") {
  ToolTurn t;
  const Agent agent = t.agent();
  const bool pauses = GENERATE(true, false);
  if (pauses)
    CHECK(agent.pause().took_effect());
  else
    CHECK(agent.interrupt({.queue = QueueAction::hold}).reason == Errc::turn_over);
  t.settle();
  CHECK_FALSE(agent.busy());
  REQUIRE(agent.send("question"));
  t.settle();
  CHECK(agent.busy());
  REQUIRE(agent.drop_queue());
  CHECK_FALSE(agent.busy());
}

TEST_CASE("a steered message that begins a turn makes its agent busy", "[tree][busy]") {
  ToolTurn t;
  const Agent agent = t.agent();
  REQUIRE(agent.steer("question"));
  CHECK(agent.busy());
  t.settle();
  t.answer("words");
  CHECK_FALSE(agent.busy());
}

TEST_CASE("an agent is busy until a stop or a delete has settled", "[tree][busy][G4]") {
  ToolTurn t;
  const Agent parent = t.root("p");
  const Agent agent = t.child(parent, "a", {.tools = t.tools});
  t.ask(agent);
  t.call({{.id = "x", .name = "held"}});
  const bool deletes = GENERATE(true, false);
  CHECK((deletes ? parent.terminate() : parent.stop()).took_effect());
  t.settle();
  CHECK(agent.busy());  // its call has not ended
  CHECK(parent.busy());
  t.held.calls.at(0).done(ToolResult::done("late"));
  t.settle();
  CHECK_FALSE(agent.busy());
  CHECK_FALSE(parent.busy());
}

TEST_CASE("an agent that does not exist is not busy", "[tree][busy]") {
  CHECK_FALSE(Agent().busy());
  TreeFixture t;
  const Agent agent = t.root("a");
  REQUIRE(agent.send("question"));
  t.runtime.reset();
  CHECK_FALSE(agent.busy());
}
