// A program as a tool, ended together with its children when the agent is stopped.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace {

// What marks the processes of this example, in their environment.
const std::string mark = "AGENTCORE_EXAMPLE=" + std::to_string(getpid());

// How many processes carry the mark, wherever they are: looked up in /proc, not taken from the library.
std::size_t marked_processes() {
  std::size_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; at != end; at.increment(error)) {
    std::ifstream file(at->path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    count += environment.find(mark) != std::string::npos;
  }
  return count;
}

bool wait_for_processes(agentcore::Runtime& runtime, std::size_t count) {
  // A process that begins another program has no environment for a moment.
  const auto limit = runtime.now() + std::chrono::seconds(20);
  for (; runtime.now() < limit; runtime.run_for(std::chrono::milliseconds(5)))
    if (marked_processes() == count) return true;
  return false;
}

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{
      runtime, [](const agentcore::ChatRequest&) {
        agentcore::testing::ScriptedReply reply;
        reply.tool_calls = {{.name = "build", .arguments = R"({"target":"all"})"}};
        return reply;
      }};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  agentcore::ToolOutcome outcome = agentcore::ToolOutcome::not_started;
  auto events = tree.on_event([&](const agentcore::Event& event) {
    event.visit(
        [](const agentcore::ToolStarted& start) {
          std::printf("%s began: %s\n", start.tool.c_str(), start.arguments.c_str());
        },
        [&](const agentcore::ToolEnded& end) {
          outcome = end.outcome;
          std::printf("it ended as %s: %s\n", to_string(outcome).data(), end.result.message.c_str());
        },
        [](const agentcore::Settled& settled) {
          std::printf("%s: nothing of it runs any more\n", to_string(settled.end).data());
        });
  });

  // [snippet: subprocess]
  auto tools = std::make_shared<agentcore::ToolRegistry>();
  tools->add(agentcore::make_subprocess_tool(
      {.name = "build",
       .description = "Builds a target.",
       .parameters = R"({"type":"object","properties":{"target":{"type":"string"}},"required":["target"]})"},
      {.command = [](const nlohmann::json& arguments) {
        agentcore::SubprocessCommand command;  // the model says what to build, the host what runs
        command.arguments = {"sh", "-c", "sleep 600 & wait", "sh", arguments.at("target")};
        command.environment = {{"AGENTCORE_EXAMPLE", std::to_string(getpid())}};
        return command;
      }}));
  agentcore::Agent agent = tree.create({.tools = tools}).value();
  // [/snippet]
  if (!agent.send("Build it.") || !wait_for_processes(runtime, 2)) return 1;
  std::printf("a shell and its child run\n");

  const auto before = runtime.now();
  if (!agent.stop().took_effect()) return 1;  // SIGTERM has gone to both when it returns
  const bool settled = runtime.run_until_idle().is_idle();
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(runtime.now() - before);
  const std::size_t left = marked_processes();
  std::printf("after %d us %zu processes are left\n", static_cast<int>(took.count()), left);
  return settled && left == 0 && outcome == agentcore::ToolOutcome::interrupted ? 0 : 1;
}
