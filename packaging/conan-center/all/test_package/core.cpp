// What a stranger's first program does: include everything, register a tool, let a model use it. Types of the
// library are known to the program, also where the library is shared.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

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

bool types_are_known(agentcore::LlmClient& client) {
  if (dynamic_cast<agentcore::testing::ScriptedClient*>(&client) == nullptr) return false;
  try {
    agentcore::Result<int>(agentcore::Error{agentcore::Errc::out_of_memory, "none"}).value();
  } catch (const agentcore::BadResultAccess& thrown) {
    return std::string(thrown.what()).find("none") != std::string::npos;
  }
  return false;
}

}  // namespace

int main() {
  agentcore::Runtime runtime;
  agentcore::testing::ScriptedClient model(runtime, [](const agentcore::ChatRequest& request) {
    agentcore::testing::ScriptedReply reply;
    if (request.messages.back().role == agentcore::Role::tool)
      reply.deltas = {"It is ", request.messages.back().content()};
    else
      reply.tool_calls = {{"call_1", "add", R"({"a":2,"b":40})", {}}};
    return reply;
  });
  agentcore::TreeOptions options;
  options.llm = &model;
  agentcore::AgentTree tree(runtime, options);

  std::string answer;
  const auto events = tree.on_event([&answer](const agentcore::Event& event) {
    if (const auto* ended = event.get<agentcore::TurnEnded>()) answer = ended->result->text;
  });
  agentcore::AgentSpec spec;
  spec.tools = std::make_shared<agentcore::ToolRegistry>();
  spec.tools->add(adder());
  const auto agent = tree.create(spec);
  const bool sent = agent && agent->send("What is 2 + 40?").accepted();
  const bool idle = runtime.run_until_idle().is_idle();
  std::cout << "agentcore " << agentcore::version << ": " << answer << '\n';
  return types_are_known(model) && sent && idle && answer == "It is 42" ? EXIT_SUCCESS : EXIT_FAILURE;
}
