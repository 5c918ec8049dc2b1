// Tools: a plain function that uses the host's own data, and one that may block, on a pool of threads. Runs
// without a network: the model is scripted, the tools are real.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using agentcore::ToolContext;
using agentcore::ToolResult;
using nlohmann::json;

bool is_prime(int number) {
  for (int divisor = 2; divisor <= number / divisor; ++divisor)
    if (number % divisor == 0) return false;
  return true;
}

// Asks for two tools, then says what it read in their results.
agentcore::testing::ScriptedReply model(const agentcore::ChatRequest& request) {
  agentcore::testing::ScriptedReply reply;
  const agentcore::ChatMessage& last = request.messages.back();
  if (last.role == agentcore::Role::tool) {
    reply.deltas = {"There are " + last.content() + "."};
  } else {
    reply.tool_calls = {{.name = "remember", .arguments = R"({"note":"primes below 100000"})"},
                        {.name = "count_primes", .arguments = R"({"below":100000})"}};
  }
  return reply;
}

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime, model};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  bool answered = false;
  auto events = tree.on_event([&](const agentcore::Event& event) {
    if (auto* end = event.get<agentcore::TurnEnded>(); end && end->result) {
      for (const agentcore::ToolCallRecord& step : end->result->calls)
        std::printf("%s %s: %s\n", step.tool.c_str(), to_string(step.outcome).data(), step.message.c_str());
      std::printf("answer: %s\n", end->result->text.c_str());
      answered = end->result->outcome == agentcore::TurnOutcome::completed;
    }
  });

  // [snippet: tools]
  std::vector<std::string> notes;
  auto pool = std::make_shared<agentcore::ThreadPool>(2);  // keep it: its end waits for its jobs
  auto tools = std::make_shared<agentcore::ToolRegistry>();
  tools->add(agentcore::make_tool(  // runs on the loop thread, beside your own data: for microseconds
      {.name = "remember",
       .parameters = R"({"type":"object","properties":{"note":{"type":"string"}},"required":["note"]})"},
      [&](const json& arguments, const ToolContext&) {
        notes.push_back(arguments.at("note"));
        return ToolResult::done("noted");
      }));
  tools->add(agentcore::make_blocking_tool(  // runs on your executor
      {.name = "count_primes",
       .description = "How many prime numbers are there below a number?",
       .parameters = R"({"type":"object","properties":{"below":{"type":"integer","maximum":1000000}},
                         "required":["below"]})"},
      pool, [](const json& arguments, const ToolContext& context) {
        int count = 0;
        const int below = arguments.at("below");
        for (int n = 2; n < below && !context.stop().stop_requested(); ++n) count += is_prime(n);
        return ToolResult::done(std::to_string(count) + " prime numbers");
      }));
  agentcore::Agent agent = tree.create({.tools = tools}).value();
  // [/snippet]
  if (!agent.send("How many prime numbers are there below 100000? Take a note.")) return 1;
  const bool done = runtime.run_until_idle().is_idle();
  return done && answered && notes.size() == 1 ? 0 : 1;
}
