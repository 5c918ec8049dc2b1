// Drive agentcore from libuv.
#include <agentcore/adapters/libuv.hpp>
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>
#include <optional>

#include <uv.h>

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
  uv_loop_t* loop = uv_default_loop();
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  std::optional<agentcore::adapters::LibuvLoop> attached;
  attached.emplace(loop, runtime);  // uv_run() drives the agents, too
  // [/snippet]
  agentcore::testing::ScriptedClient llm{runtime, long_answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  agentcore::Agent agent = tree.create().value();
  if (!agent.send("Tell me everything.")) return 1;
  bool stopped = false;
  auto settled = agent.on<agentcore::Settled>([&](const agentcore::Settled&) {
    stopped = true;
    uv_stop(loop);
  });

  uv_timer_t click;  // an event of your own
  uv_timer_init(loop, &click);
  click.data = &agent;
  const auto stop = [](uv_timer_t* timer) {
    static_cast<void>(static_cast<agentcore::Agent*>(timer->data)->stop());
  };
  uv_timer_start(&click, stop, 30, 0);
  uv_run(loop, UV_RUN_DEFAULT);

  // [snippet: end]
  attached.reset();  // closes its handle, which libuv releases in uv_run()
  uv_close(reinterpret_cast<uv_handle_t*>(&click), nullptr);
  uv_run(loop, UV_RUN_DEFAULT);
  if (uv_loop_close(loop) != 0) return 1;
  // [/snippet]
  std::printf("%s\n", stopped ? "stopped" : "not stopped");
  return stopped ? 0 : 1;
}
