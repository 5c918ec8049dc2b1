// Agents as tools: a call does not wait for a release of its child's mailbox, and says that a pause delays
// it.
#include "support/drive/agent_calls.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

TEST_CASE("the message of a call passes the hold of the child's mailbox, and no other message does",
          "[tools][agent_tool][hold]") {
  AgentCalls t;
  t.begin({call_of("named", "x", "c1")});
  t.answer(t["helper"], "x");
  t.answer(t.planner, "done");
  const Agent helper = t["helper"];
  REQUIRE(helper.send("busy"));
  t.settle();
  REQUIRE(helper.interrupt({.queue = QueueAction::hold}).took_effect());
  t.settle();
  REQUIRE(helper.send("held"));
  t.settle();
  CHECK(helper.queue_length().value() == 1);
  t.again({call_of("named", "passes", "c2")});
  CHECK(helper.state().value() == AgentState::waiting_llm);
  t.answer(helper, "passes");
  t.answer(t.planner, "done");
  CHECK(t.record(0).message == "passes");
  CHECK(helper.queue_length().value() == 1);
  CHECK(helper.status().value().queue_held);
  REQUIRE(helper.release_queue().took_effect());
  t.settle();
  CHECK(helper.state().value() == AgentState::waiting_llm);
}

TEST_CASE("a call of a paused agent says that it waits", "[tools][agent_tool][hold]") {
  AgentCalls t;
  t.begin({call_of("named", "x", "c1")});
  t.answer(t["helper"], "x");
  t.answer(t.planner, "done");
  std::vector<std::string> said;
  const auto on = t.tree->on<ToolProgress>([&](const ToolProgress& event) { said.push_back(event.text); });
  REQUIRE(t["helper"].pause().took_effect());
  t.again({call_of("named", "y", "c2")});
  CHECK(t["helper"].state().value() == AgentState::idle);
  CHECK(said ==
        std::vector<std::string>{"the agent 'helper' is paused; the call waits until it is unpaused"});
  REQUIRE(t["helper"].unpause().took_effect());
  t.settle();
  t.answer(t["helper"], "y");
  t.answer(t.planner, "done");
  CHECK(t.record(0).message == "y");
}

TEST_CASE("a call passes a hold that an ancestor of its child extends to the subtree",
          "[tools][agent_tool][hold]") {
  AgentCalls t;
  const auto own = std::make_shared<ToolRegistry>();
  own->add(make_agent_tool({.tool = {.name = "work"}}));
  t.tools->add(make_agent_tool({.tool = {.name = "lead"}, .agent = {.id = "lead", .tools = own}}));
  t.begin({call_of("lead", "x", "c1")});
  t.answer(t["lead"], "x");
  t.answer(t.planner, "done");
  const Agent lead = t["lead"];
  REQUIRE(lead.interrupt({.scope = Scope::subtree, .queue = QueueAction::hold}).took_effect());
  t.settle();
  REQUIRE(lead.status().value().queue_held);
  t.again({call_of("lead", "y", "c2")});
  REQUIRE(lead.state().value() == AgentState::waiting_llm);
  t.llm->call_tools("lead", {call_of("work", "z", "c3")});
  t.settle();
  const std::vector<Agent> workers = lead.children().value();
  REQUIRE(workers.size() == 1);
  CHECK(workers[0].state().value() == AgentState::waiting_llm);
  t.answer(workers[0], "z");
  t.answer(lead, "y");
  t.answer(t.planner, "done");
  CHECK(t.record(0).message == "y");
  CHECK(lead.status().value().queue_held);
}

TEST_CASE("the time-out of a call runs while its agent is paused", "[tools][agent_tool][hold][pause]") {
  AgentCalls t({}, {.tool = {.timeout = 10s}, .agent = {.id = "one"}});
  t.begin({call_of("work", "x", "c1")});
  t.answer(t["one"], "x");
  t.answer(t.planner, "done");
  REQUIRE(t["one"].pause().took_effect());
  t.again({call_of("work", "y", "c2")});
  CHECK(t["one"].queue_length().value() == 1);
  t.advance(9s);
  CHECK(t.planner.state().value() == AgentState::processing);
  t.advance(1s);
  CHECK(t.told() == "error: timed out after 10 s, before it began");
  CHECK(t["one"].queue_length().value() == 0);
  t.answer(t.planner, "done");
  CHECK(t.record(0).outcome == ToolOutcome::not_started);
  REQUIRE(t["one"].unpause().took_effect());
  t.settle();
  CHECK(t["one"].state().value() == AgentState::idle);
}
