// Shows the agents of a program on a web page, from which a person can stop them.
//
//   example_19_console 8700    serves http://127.0.0.1:8700/ until you press Ctrl+C
//   example_19_console         the same for one second, at any port
#include <agentcore/agentcore.hpp>
#include <agentcore/console.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

// A model that answers one word every 200 ms.
agentcore::testing::ScriptedReply slow_answer(const agentcore::ChatRequest&) {
  agentcore::testing::ScriptedReply reply;
  for (int i = 1; i <= 1000; ++i) reply.deltas.push_back("word " + std::to_string(i) + " ");
  reply.interval = std::chrono::milliseconds(200);
  return reply;
}

}  // namespace

int main(int argc, char** argv) {
  const auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime, slow_answer};

  // [snippet: console]
  auto console = agentcore::Console::open(runtime, {.port = port}).value();
  agentcore::AgentTree tree{runtime, {.llm = &llm, .audit = console->receipts()}};
  const agentcore::Subscription shown = console->show(tree);
  std::printf("open %s\n", console->url().c_str());
  // [/snippet]

  const agentcore::Agent planner = tree.create({.id = "planner"}).value();
  for (const char* const name : {"scout", "writer", "critic"})
    if (!planner.create_child({.id = name}).value().send("Go on until somebody stops you.")) return 1;
  do {
    runtime.run_for(std::chrono::seconds(1));
  } while (port != 0);
}
