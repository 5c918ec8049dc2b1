// What a stranger's first program with a store does: agents that outlive their process.
// usage: store FOLDER
#include <agentcore/agentcore.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

namespace {

// One life of the program: returns the number of agents that the store had.
std::size_t run(const std::string& folder) {
  std::unique_ptr<agentcore::SqliteStore> store = agentcore::SqliteStore::open(folder + "/agents.db").value();
  agentcore::Runtime runtime;
  agentcore::testing::ScriptedClient model(runtime);
  agentcore::AgentTree tree(runtime, {.llm = &model});
  const std::size_t found = tree.restore(store.get()).value().agents;
  if (found == 0) {
    const agentcore::Agent planner = tree.create({.id = "planner"}).value();
    const agentcore::Agent helper = planner.create_child({.id = "helper"}).value();
    if (!helper.send("Hello.") || !runtime.run_until_idle()) return 0;
    static_cast<void>(planner.stop());
    runtime.run_until_idle();
  }
  if (tree.find("helper").value().state().value() != agentcore::AgentState::stopped) return 0;
  if (tree.find("helper").value().conversation().value().size() != 2) return 0;
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  const std::string folder = argv[1];
  const bool good = run(folder) == 0 && run(folder) == 2;
  std::cout << (good ? "the agents were restored\n" : "the agents were not restored\n");
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
