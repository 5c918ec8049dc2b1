// A pause or an unpause whose second half takes several polls.
#include "support/drive/tool_turn.hpp"

#include <future>
#include <string>
#include <thread>
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
    CHECK((i % 2 == 0 ? agents.back().grant(budget) : agents.back().grant(budget, Scope::subtree)));
  }
  CHECK(top.pause().took_effect());
  const int polls = GENERATE(0, 1, 5);
  for (int i = 0; i < polls; ++i) t.runtime->poll(Duration(0));  // one step of each stage
  t.clock.advance(100s);
  for (int i = 0; i < 10; ++i) t.runtime->poll(Duration(0));  // timers end before the pause has come to them
  t.settle();
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

TEST_CASE("a pause settles when nothing runs at the end of the count of all agents", "[tree][pause]") {
  ToolTurn t;
  const Agent top = t.tree->create({.id = "top"}).value();
  const Agent agent = top.create_child({.id = "a", .tools = t.tools}).value();
  for (int i = 0; i < 50; ++i) top.create_child({}).value();
  t.ask(agent);
  t.call({{.name = "held"}});
  const auto poll = [&](int polls) {
    for (int i = 0; i < polls; ++i) t.runtime->poll(Duration(0));  // one step of each stage
  };
  SECTION("not before although an agent that waited was counted") {
    t.held.calls[0].context.ask({.text = "Which?"}, [](const Answer&) {});
    t.settle();
    CHECK(top.pause().took_effect());
    const int polls = GENERATE(1, 60, 80, 100);
    poll(polls);
    CHECK(t.seen.count("at-rest") == 0);
    CHECK(t.tree->answer("q_1", "yes"));
    t.settle();
    CHECK(t.seen.count("at-rest") == 0);
    t.held.calls[0].done(ToolResult::done("x"));
    t.settle();
  }
  SECTION("also if it came to rest during the count") {
    CHECK(top.pause().took_effect());
    const int polls = GENERATE(1, 60, 80, 100, 200);
    poll(polls);
    CHECK(t.seen.count("at-rest") == 0);
    t.held.calls[0].done(ToolResult::done("x"));
    poll(1);
    t.settle();
  }
  SECTION("also if it came to rest and went on again before that was reported") {
    CHECK(top.pause().took_effect());
    t.settle();
    t.held.calls[0].context.ask({.text = "Which?"}, [](const Answer&) {});
    poll(1);
    CHECK(t.tree->answer("q_1", "yes"));
    t.held.calls[0].context.ask({.text = "Really?"}, [](const Answer&) {});
    t.settle();
  }
  CHECK(t.seen.count("at-rest top") == 1);
  CHECK(top.stop().took_effect());
  t.settle();
}

TEST_CASE("an unpause names no pause of an agent that has the slot of its own meanwhile",
          "[tree][pause][race]") {
  ToolTurn t;
  const Agent agent = t.tree->create({}).value();
  const std::string id = agent.id();
  const Agent other = t.tree->create({.id = "other"}).value();
  CHECK(agent.pause().took_effect());
  CHECK(other.pause().took_effect());
  t.settle();
  std::promise<void> changed, deleted;
  const auto wake = t.runtime->on_wake([&] {  // between the change of the state and the look at the parent
    changed.set_value();
    deleted.get_future().wait();
  });
  UnpauseResult result;
  std::thread unpausing([&] { result = agent.unpause(); });
  changed.get_future().wait();
  Agent next;
  t.runtime->post([&] {
    CHECK(agent.terminate({.on_settled = [&](const StopReport&) { next = other.create_child({}).value(); }})
              .took_effect());
  });
  t.poll();
  deleted.set_value();
  unpausing.join();
  REQUIRE(next.exists());
  CHECK(next.id().substr(0, next.id().find('.')) == id.substr(0, id.find('.')));  // the slot
  CHECK(result.took_effect());
  CHECK_FALSE(result.still_paused);
  CHECK(result.paused_by.empty());
}
