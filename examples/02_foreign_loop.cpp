// Drive agentcore from a loop of your own: one descriptor, one deadline. Here the loop is poll(2); a GUI or a
// game does the same with what it has.
#include <agentcore/agentcore.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <poll.h>

namespace {

// How long the host may sleep: until the next deadline, at most `longest`.
int sleep_ms(agentcore::Runtime& runtime, int longest) {
  const auto deadline = runtime.next_deadline();
  if (!deadline) return longest;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - runtime.now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, longest));
}

}  // namespace

int main() {
  agentcore::Runtime runtime;
  agentcore::ScriptedClient llm{runtime};  // echoes what it is asked, word by word
  agentcore::AgentTree tree{runtime, {.llm = &llm}};

  bool answered = false;
  auto events = tree.on_event([&](const agentcore::Event& event) {
    if (auto* end = event.get<agentcore::TurnEnded>()) {
      std::printf("answer: %.*s\n", static_cast<int>(end->text.size()), end->text.data());
      answered = true;
    }
  });
  const agentcore::Agent agent = tree.create().value();
  if (!agent.send("a loop of my own")) return 1;

  // [snippet: loop]
  while (!answered) {
    pollfd watched{.fd = runtime.poll_descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&watched, 1, sleep_ms(runtime, 1000));  // your loop's wait, with your own descriptors beside it
    runtime.poll();                                // bounded, never blocks
  }
  // [/snippet]
  return 0;
}
