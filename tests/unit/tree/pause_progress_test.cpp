// A pause or an unpause whose second half takes several polls.
#include "support/drive/tool_turn.hpp"

#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

TEST_CASE("no time-out ends in a pause that the loop has only begun to read",
          "[tree][pause][budget][questions]") {
  ToolTurn t;
  const Agent top = t.tree->create({.id = "top"}).value();
  std::vector<Agent> agents;
  int closed = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string id = "c" + std::to_string(i);
    agents.push_back(top.create_child({.id = id, .tools = t.tools}).value());
    t.ask(agents.back());
    t.llm->call_tools(id, {{.name = "held"}});
    t.held.calls[t.held.calls.size() - 1].context.ask({.text = "Which?", .timeout = 10s},
                                                      [&](const Answer&) { ++closed; });
    t.settle();
    const Budget budget{.wall_clock = 10s};
    CHECK((i % 2 == 0 ? agents.back().grant(budget) : agents.back().grant_subtree(budget)));
  }
  CHECK(top.pause().took_effect());
  const int polls = GENERATE(0, 1, 5);
  for (int i = 0; i < polls; ++i) t.runtime->poll(Duration(0));  // one step of each stage
  t.advance(100s);
  CHECK(closed == 0);
  for (const Agent& agent : agents) CHECK(agent.state().value() == AgentState::processing);
  CHECK(top.unpause().took_effect());
  t.settle();
  t.advance(10s);
  CHECK(closed == 20);
  for (HeldTool::Call& call : t.held.calls) call.done(ToolResult::done("x"));
  t.settle();
  for (const Agent& agent : agents) CHECK(agent.state().value() == AgentState::stopped);
}
