// Drive agentcore from GLib: a GTK program does the same with its main loop.
#include <agentcore/adapters/glib.hpp>
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>

#include <glib.h>

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
  GMainLoop* loop = g_main_loop_new(nullptr, FALSE);
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::adapters::GlibLoop attached{nullptr, runtime};  // the default context drives the agents, too
  // [/snippet]
  agentcore::testing::ScriptedClient llm{runtime, long_answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  agentcore::Agent agent = tree.create().value();
  if (!agent.send("Tell me everything.")) return 1;
  bool stopped = false;
  auto settled = agent.on<agentcore::Settled>([&](const agentcore::Settled&) {
    stopped = true;
    g_main_loop_quit(loop);
  });

  const auto stop = [](gpointer clicked) -> gboolean {
    static_cast<void>(static_cast<agentcore::Agent*>(clicked)->stop());
    return G_SOURCE_REMOVE;
  };
  g_timeout_add(30, stop, &agent);  // an event of your own
  g_main_loop_run(loop);
  g_main_loop_unref(loop);
  std::printf("%s\n", stopped ? "stopped" : "not stopped");
  return stopped ? 0 : 1;
}
