// A program of two files of agentcore and this one: a model that is scripted uses a tool, then a tree is
// stopped.
#define AGENTCORE_JSON
#include "agentcore.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

agentcore::Tool adder() {
  agentcore::ToolSpec spec;
  spec.name = "add";
  spec.description = "Adds two numbers.";
  spec.parameters =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]})";
  return agentcore::make_tool(spec, [](const nlohmann::json& arguments, const agentcore::ToolContext&) {
    return agentcore::ToolResult::done(
        std::to_string(arguments.at("a").get<int>() + arguments.at("b").get<int>()));
  });
}

// Calls the tool, then says its result. To "wait" it never answers.
agentcore::testing::ScriptedReply reply_to(const agentcore::ChatRequest& request) {
  const agentcore::ChatMessage& last = request.messages.back();
  agentcore::testing::ScriptedReply reply;
  if (last.content() == "wait")
    reply.silent = true;
  else if (last.role == agentcore::Role::tool)
    reply.deltas = {"It is ", last.content()};
  else
    reply.tool_calls = {{"call_1", "add", R"({"a":2,"b":40})", {}}};
  return reply;
}

bool answers_with_tool(agentcore::Runtime& runtime, agentcore::AgentTree& tree) {
  std::string answer;
  const auto events = tree.on_event([&answer](const agentcore::Event& event) {
    if (const auto* ended = event.get<agentcore::TurnEnded>()) answer = ended->result->text;
  });
  agentcore::AgentSpec spec;
  spec.tools = std::make_shared<agentcore::ToolRegistry>();
  spec.tools->add(adder());
  const auto agent = tree.create(spec);
  const bool sent = agent && agent->send("What is 2 + 40?").accepted();
  return runtime.run_until_idle() && sent && answer == "It is 42";
}

bool stops(agentcore::Runtime& runtime, agentcore::AgentTree& tree,
           agentcore::testing::ScriptedClient& model) {
  const agentcore::Agent planner = tree.create({.id = "planner"}).value();
  const agentcore::Agent scout = planner.create_child({.id = "scout"}).value();
  const bool sent = scout.send("wait").accepted();
  while (sent && model.open_calls() == 0) runtime.run_for(std::chrono::milliseconds(1));
  const bool stopped = planner.stop().took_effect();
  return runtime.run_until_idle() && stopped && model.open_calls() == 0 &&
         scout.state().value() == agentcore::AgentState::stopped;
}

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient model{runtime, reply_to};
  agentcore::AgentTree tree{runtime, {.llm = &model}};
  const bool answered = answers_with_tool(runtime, tree);
  const bool stopped = stops(runtime, tree, model);
  std::printf("agentcore %s: %s, %s\n", agentcore::version, answered ? "answered" : "NO ANSWER",
              stopped ? "stopped" : "NOT STOPPED");
  return answered && stopped ? EXIT_SUCCESS : EXIT_FAILURE;
}
