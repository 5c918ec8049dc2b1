// A host that is compiled with -fno-exceptions: everything that can fail returns a Result.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>

int main() {
  auto wrong = agentcore::Runtime::make({.poll_budget = std::chrono::milliseconds(-1)});
  if (wrong) return EXIT_FAILURE;
  std::puts(wrong.error().message.c_str());

  auto runtime = agentcore::Runtime::make();
  if (!runtime) return EXIT_FAILURE;
  agentcore::testing::ScriptedClient model(**runtime);
  auto tree = agentcore::AgentTree::make(**runtime, {.llm = &model});
  if (!tree) return EXIT_FAILURE;

  auto tools = std::make_shared<agentcore::ToolRegistry>();
  agentcore::Tool unusable;
  unusable.spec.name = "no function";
  if (tools->try_add(unusable)) return EXIT_FAILURE;

  auto agent = (*tree)->create({.tools = tools});
  if (!agent || !agent->send("Hello")) return EXIT_FAILURE;
  (*runtime)->run_until_idle();
  std::printf("%s is %s\n", agent->id().c_str(), to_string(*agent->state()).data());
  return *agent->state() == agentcore::AgentState::idle ? EXIT_SUCCESS : EXIT_FAILURE;
}
