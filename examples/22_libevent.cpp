// Drive agentcore from libevent.
#include <agentcore/adapters/libevent.hpp>
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>

#include <event2/event.h>

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
  // [snippet: loop]
  event_base* base = event_base_new();
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::adapters::LibeventLoop attached{base, runtime};  // event_base_dispatch() drives the agents, too
  // [/snippet]
  agentcore::testing::ScriptedClient llm{runtime, long_answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  agentcore::Agent agent = tree.create().value();
  if (!agent.send("Tell me everything.")) return 1;
  bool stopped = false;
  auto settled = agent.on<agentcore::Settled>([&](const agentcore::Settled&) {
    stopped = true;
    event_base_loopbreak(base);
  });

  const timeval when{.tv_sec = 0, .tv_usec = 30'000};
  const auto stop = [](evutil_socket_t, short, void* clicked) {
    static_cast<void>(static_cast<agentcore::Agent*>(clicked)->stop());
  };
  event_base_once(base, -1, EV_TIMEOUT, stop, &agent, &when);  // an event of your own
  event_base_dispatch(base);
  event_base_free(base);
  std::printf("%s\n", stopped ? "stopped" : "not stopped");
  return stopped ? 0 : 1;
}
