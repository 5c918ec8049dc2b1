// Drive agentcore from a loop of your own: watch one descriptor, which timers make readable, too. Here the
// loop is poll(2); a GUI or a game does the same with what it has.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>

#include <poll.h>

namespace {

// Waits for timers only: before its first word, and between its words.
agentcore::testing::ScriptedReply slow_answer(const agentcore::ChatRequest&) {
  agentcore::testing::ScriptedReply reply;
  reply.deltas = {"a loop ", "of your ", "own"};
  reply.first_delay = std::chrono::milliseconds(20);
  reply.interval = std::chrono::milliseconds(5);
  return reply;
}

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime, slow_answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};

  bool answered = false;
  auto events = tree.on_event([&](const agentcore::Event& event) {
    if (auto* end = event.get<agentcore::TurnEnded>()) {
      std::printf("answer: %.*s\n", static_cast<int>(end->result->text.size()), end->result->text.data());
      answered = true;
    }
  });
  const agentcore::Agent agent = tree.create().value();
  if (!agent.send("What drives you?")) return 1;

  // [snippet: loop]
  pollfd watched{.fd = runtime.poll_descriptor(), .events = POLLIN, .revents = 0};
  if (watched.fd < 0) return 1;  // the system has no descriptor left
  while (!answered) {
    ::poll(&watched, 1, -1);  // your loop's wait, with your own descriptors beside it
    runtime.poll();           // does what is ready, and does not wait
  }
  // [/snippet]
  return 0;
}
