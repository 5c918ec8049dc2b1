// A planner with agents as tools, under full control of the test.
#pragma once

#include "support/drive/tree_fixture.hpp"

#include <agentcore/agent_tool.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::test {

inline ToolCall call_of(std::string tool, std::string_view message, std::string id = {}) {
  return {std::move(id), std::move(tool), nlohmann::json{{"message", message}}.dump(), {}};
}

// The root agent "planner" has the tools `work`, which creates an agent for each call, and `named`, which
// works with the agent "helper".
struct AgentCalls : TreeFixture {
  explicit AgentCalls(TreeOptions options = {}, AgentToolOptions work = {}) : TreeFixture(options) {
    work.tool.name = "work";
    work.agent.system_prompt = "You work.";
    tools->add(make_agent_tool(std::move(work)));
    tools->add(make_agent_tool({.tool = {.name = "named"}, .agent = {.id = "helper"}}));
    ends = tree->on<TurnEnded>([this](const TurnEnded& ended) {
      if (ended.agent == planner) result = ended.result;
    });
  }

  // Asks the planner, whose model answers with these calls.
  void begin(std::vector<ToolCall> calls, AgentSpec spec = {}) {
    spec.tools = tools;
    if (spec.limits.parallel_tools == 1) spec.limits.parallel_tools = 8;
    planner = root("planner", std::move(spec));
    again(std::move(calls));
  }
  void again(std::vector<ToolCall> calls) {
    result = {};
    ask(planner);
    llm->call_tools("planner", std::move(calls));
    settle();
  }
  // The children of the planner, the oldest first.
  std::vector<Agent> children() const {
    std::vector<Agent> all = planner.children().value_or(std::vector<Agent>());
    return {all.rbegin(), all.rend()};
  }
  using TreeFixture::child;
  Agent child(std::size_t index = 0) const { return children().at(index); }
  void answer(const Agent& agent, std::string_view text) {
    llm->answer(agent.id(), text);
    settle();
  }
  // What the planner's model has read as the result of its last call.
  std::string told() const { return planner.conversation().value().back().content(); }
  const ToolCallRecord& record(std::size_t index = 0) const { return result->calls.at(index); }

  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  Agent planner;
  CheckedPointer<std::shared_ptr<const TurnResult>> result;
  Subscription ends;
};

}  // namespace agentcore::test
