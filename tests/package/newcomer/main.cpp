// The program of README's section "Use it in your project". scripts/check-newcomer and check-package take it
// from README, not from here.

// [snippet: program]
#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <iostream>

int main(int argc, char** argv) {
  const char* const server = argc > 1 ? argv[1] : "http://127.0.0.1:8080/v1";
  agentcore::Runtime runtime;
  agentcore::HttpLlmClient llm{runtime, {.base_url = server, .model = "any"}};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  agentcore::Agent agent = tree.create({.id = "planner"}).value();

  int deltas = 0;
  bool stopped = false;
  auto shown = tree.on<agentcore::DeltaReceived>([&](const agentcore::DeltaReceived& delta) {
    std::cout << delta.text << std::flush;
    if (++deltas == 20) stopped = agent.stop().took_effect();  // the connection is closed at once
  });
  auto ended = tree.on<agentcore::TurnEnded>([](const agentcore::TurnEnded& turn) {
    std::cout << '\n' << turn.result->error.message;
  });
  if (!agent.send("Where is a quiet beach?")) return 1;
  const agentcore::RunResult run = runtime.run_until_idle();  // until the stop has settled
  std::cout << "\nthe agent is " << to_string(agent.state().value()) << '\n';
  return stopped && run.is_idle() ? 0 : 1;
}
// [/snippet]
