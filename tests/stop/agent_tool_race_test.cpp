// Verbs on real threads against the answers of agents that work for tool calls.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/team.hpp"
#include "support/observe/event_audit.hpp"
#include "support/observe/strict_history.hpp"

#include <agentcore/agent_tool.hpp>
#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/references.hpp>
#include <agentcore/tool_registry.hpp>
#include <agentcore/turn_result.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore;
using agentcore::test::Audit;
using agentcore::test::drive;
using agentcore::test::FakeClient;
using agentcore::test::Team;

namespace {

const int rounds = agentcore::test::amount(1500, 150);

// An agent whose calls are done by children: `work` creates one for each call, `named` works with one.
struct AgentToolRace {
  FakeClient client;
  Runtime runtime;
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  AgentTree tree{runtime, {.llm = &client}};
  Audit audit{tree};
  Agent agent;
  std::vector<Agent> children;
  std::shared_ptr<const TurnResult> result;
  Subscription ends = tree.on<TurnEnded>([this](const TurnEnded& ended) {
    if (ended.agent == agent) result = ended.result;
  });

  AgentToolRace() {
    tools->add(make_agent_tool({.tool = {.name = "work"}}));
    tools->add(make_agent_tool({.tool = {.name = "named"}, .agent = {.id = "helper"}}));
  }

  // A new agent asks for two calls of that tool, and the children that may work do.
  void begin(const std::string& tool) {
    result.reset();
    agent = tree.create({.tools = tools, .limits = {.parallel_tools = 2}}).value();
    static_cast<void>(agent.send("a"));
    runtime.poll();
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls);
    for (const char* id : {"call_0", "call_1"})
      outcome.tool_calls.push_back({id, tool, R"({"message":"do it"})", {}});
    for (FakeClient::Call* const call : client.open_calls()) FakeClient::finish(*call, outcome);
    runtime.poll();
    runtime.poll();
    children = agent.children().value();
  }
  void answer_children() {
    for (FakeClient::Call* const call : client.open_calls()) {
      call->sink.delta("done");
      if (call->open()) FakeClient::complete(*call);
    }
  }
  void remove() {
    children.clear();
    static_cast<void>(agent.terminate());
    REQUIRE(drive(runtime, tree, client) == "");
    REQUIRE(tree.size() == 0);
    CHECK(agentcore::testing::count_references(tree, "-") == 0);
    audit.sweep();
  }
};

// The texts that a call may end with, whatever came first.
bool is_true(const ToolCallRecord& record) {
  constexpr std::array<std::string_view, 11> texts{
      "done",
      "the agent has finished, without an answer in words",
      "the agent was stopped, and did not finish",
      "the agent was stopped, and did not begin",
      "the agent was deleted, and did not finish",
      "the agent was deleted, and did not begin",
      "the agent was interrupted, and did not finish",
      "by hand",
      "not started: its turn ended before it began",  // it waited in the mailbox of the child
      "a person cancelled the call; its effect is unknown",
      "interrupted: it had begun when its turn ended, and its effect is unknown"};
  for (const std::string_view& text : texts)
    if (record.message == text) return record.success == (&text <= &texts[1] || text == "by hand");
  return false;
}

// The verbs on the agent that calls.
void act(const Agent& agent, int verb) {
  switch (verb) {
    case 0:
      return static_cast<void>(agent.stop());
    case 1:
      return static_cast<void>(agent.interrupt());
    case 2:
      return static_cast<void>(agent.cancel_call("call_0"));
    case 3:
      return static_cast<void>(agent.complete_call("call_1", ToolResult::done("by hand")));
    case 4:
      return static_cast<void>(agent.terminate());
    case 5:
      return static_cast<void>(agent.stop({.when = StopWhen::after_step}));
    default:
      return static_cast<void>(agent.interrupt({.scope = Scope::subtree}));
  }
}

// The verbs of a person on an agent that works for a call.
void act_on_child(const Agent& child, int verb) {
  switch (verb) {
    case 0:
      return static_cast<void>(child.stop());
    case 1:
      return static_cast<void>(child.interrupt());
    case 2:
      return static_cast<void>(child.terminate());
    default:
      return;
  }
}

}  // namespace

TEST_CASE("in a race of a verb and the answer of a child each call has one true end and nothing is left",
          "[stop][race][tools][agent_tool][G1][G4][G8][G9][G10][G13]") {
  const std::string tool = GENERATE("work", "named");
  CAPTURE(tool);
  AgentToolRace race;
  Team team(2);
  for (int round = 0; round < rounds; ++round) {
    race.begin(tool);
    REQUIRE(race.children.size() == (tool == "work" ? 2U : 1U));
    int answered = 0;
    team.run(
        [&](int member) {
          if (member == 0) act(race.agent, round % 7);
          if (member == 1) act_on_child(race.children[0], round / 7 % 4);
        },
        [&] {
          if (answered++ == round % 3) race.answer_children();
          race.runtime.poll();
        });
    REQUIRE(drive(race.runtime, race.tree, race.client) == "");
    REQUIRE(race.result);
    for (const ToolCallRecord& record : race.result->calls) {
      CAPTURE(round, record.message);
      CHECK(is_true(record));
    }
    if (race.agent.exists()) CHECK(agentcore::test::refusal(race.agent.conversation().value()) == "");
    race.remove();
  }
  CHECK(race.audit.problem == "");
}

TEST_CASE("the tree is destroyed while verbs of other threads end the calls of agent tools",
          "[stop][race][tools][agent_tool][G13][G16]") {
  const std::string tool = GENERATE("work", "named");
  Team team(2);
  for (int round = 0; round < 200; ++round) {
    std::optional<AgentToolRace> race(std::in_place);
    race->begin(tool);
    const Agent agent = race->agent;
    const Agent child = race->children.at(0);
    bool destroyed = false;
    team.run(
        [&](int member) {
          if (member == 0) act(agent, round % 7);
          if (member == 1) act_on_child(child, round / 7 % 3);
        },
        [&] {
          if (!std::exchange(destroyed, true)) race.reset();
        });
    CHECK_FALSE(agent.exists());
  }
}
