// Drive agentcore from Asio. With Boost.Asio: adapters/boost_asio.hpp, and BoostAsioLoop.
#include <agentcore/adapters/asio.hpp>
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

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
  asio::io_context context;
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::adapters::AsioLoop attached{context, runtime};  // context.run() drives the agents, too
  // [/snippet]
  agentcore::testing::ScriptedClient llm{runtime, long_answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  agentcore::Agent agent = tree.create().value();
  if (!agent.send("Tell me everything.")) return 1;
  bool stopped = false;
  auto settled = agent.on<agentcore::Settled>([&](const agentcore::Settled&) {
    stopped = true;
    context.stop();
  });

  asio::steady_timer click{context, std::chrono::milliseconds(30)};  // an event of your own
  click.async_wait([&](const auto& error) {
    if (!error) static_cast<void>(agent.stop());
  });
  context.run();
  std::printf("%s\n", stopped ? "stopped" : "not stopped");
  return stopped ? 0 : 1;
}
