// Tools: a plain function that uses the host's own data, and one that may block, on a pool of threads. Runs
// without a network: the model is scripted, the tools are real.
#include <agentcore/agentcore.hpp>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using agentcore::ToolContext;
using agentcore::ToolResult;
using nlohmann::json;

// Asks for two tools, then says what it read in their results.
agentcore::ScriptedReply model(const agentcore::ChatRequest& request) {
  agentcore::ScriptedReply reply;
  const agentcore::ChatMessage& last = request.messages.back();
  if (last.role == agentcore::Role::tool) {
    reply.deltas = {"There are " + last.content + "."};
  } else {
    reply.tool_calls = {{.name = "remember", .arguments = R"({"note":"count the accounts"})"},
                        {.name = "count_lines", .arguments = R"({"path":"/etc/passwd"})"}};
  }
  return reply;
}

}  // namespace

int main() {
  agentcore::Runtime runtime;
  agentcore::ScriptedClient llm{runtime, model};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  bool answered = false;
  auto events = tree.on_event([&](const agentcore::Event& event) {
    if (auto* end = event.get<agentcore::TurnEnded>(); end && end->result) {
      for (const agentcore::InteractionStep& step : end->result->steps)
        std::printf("%s %s: %s\n", step.action_id.c_str(), to_string(step.outcome).data(),
                    step.message.c_str());
      std::printf("answer: %s\n", end->result->response.c_str());
      answered = end->outcome == agentcore::TurnOutcome::completed;
    }
  });

  // [snippet: tools]
  std::vector<std::string> notes;
  auto tools = std::make_shared<agentcore::ToolRegistry>();
  tools->add(agentcore::make_tool(  // runs on the loop thread, beside your own data: for microseconds
      {.name = "remember",
       .parameters = R"({"type":"object","properties":{"note":{"type":"string"}},"required":["note"]})"},
      [&](const json& arguments, const ToolContext&) {
        notes.push_back(arguments.at("note"));
        return ToolResult::done("noted");
      }));
  tools->add(agentcore::make_blocking_tool(  // runs on your executor
      {.name = "count_lines",
       .description = "Counts the lines of a file.",
       .parameters = R"({"type":"object","properties":{"path":{"type":"string"}},"required":["path"]})"},
      std::make_shared<agentcore::ThreadPool>(2), [](const json& arguments, const ToolContext& context) {
        std::ifstream file(arguments.at("path").get<std::string>());
        std::size_t lines = 0;
        for (std::string line; !context.stop().stop_requested() && std::getline(file, line);) ++lines;
        return file.eof() ? ToolResult::done(std::to_string(lines) + " lines")
                          : ToolResult::failed("not read to its end");
      }));
  agentcore::Agent agent = tree.create({.tools = tools}).value();
  // [/snippet]
  if (!agent.send("How many accounts are there?")) return 1;
  const bool done = runtime.run_until_idle();
  return done && answered && notes.size() == 1 ? 0 : 1;
}
