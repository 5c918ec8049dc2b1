// Agents that live no longer than a block of code, whatever way the block is left.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/references.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdio>
#include <stdexcept>

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  const agentcore::Agent planner = tree.create({.id = "planner"}).value();

  try {
    // [snippet: scope]
    agentcore::TerminateScope scope{planner};
    auto helper = scope.create({.id = "helper"}).value();
    auto below = helper.create_child({.id = "below"}).value();
    if (!below.send("Look this up.")) return 1;
    throw std::runtime_error("something else went wrong");
    // [/snippet]
  } catch (const std::exception& error) {
    std::printf("left the block: %s\n", error.what());
  }
  // The gates closed when the block was left; the loop removes what is left.
  runtime.run_until_idle();
  std::printf("agents left: %zu\n", tree.size());
  return tree.size() == 1 && agentcore::testing::count_references(tree, "helper") == 0 ? 0 : 1;
}
