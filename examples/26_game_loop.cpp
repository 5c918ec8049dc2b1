// Drive agentcore from a game: one poll() per frame, for the rest of the frame.
#include <agentcore/adapters/game_loop.hpp>
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>

namespace {

// An answer that goes on, one word each 5 ms.
agentcore::testing::ScriptedReply long_answer(const agentcore::ChatRequest&) {
  agentcore::testing::ScriptedReply reply;
  reply.deltas.assign(10'000, "word ");
  reply.interval = std::chrono::milliseconds(5);
  return reply;
}

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime, long_answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  agentcore::Agent agent = tree.create().value();
  if (!agent.send("Tell me everything.")) return 1;
  bool stopped = false;
  auto settled = agent.on<agentcore::Settled>([&](const agentcore::Settled&) { stopped = true; });

  // [snippet: loop]
  agentcore::adapters::GameLoop attached{runtime, std::chrono::milliseconds(14)};
  int frame = 0;
  while (!stopped) {
    attached.begin_frame();
    if (++frame == 100) static_cast<void>(agent.stop());  // your input, your world, your picture
    attached.poll();                                      // until 14 ms after begin_frame(), if there is work
    // here a game waits for the screen
  }
  // [/snippet]
  std::printf("%s\n", stopped ? "stopped" : "not stopped");
  return stopped ? 0 : 1;
}
