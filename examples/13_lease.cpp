// A dead man's switch: the agents of a game run only while its loop renews their lease. If the game hangs,
// they are stopped without a call by the game.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>

using std::chrono::milliseconds;

namespace {

// An answer that goes on, one word every 50 ms.
agentcore::testing::ScriptedReply long_answer(const agentcore::ChatRequest&) {
  agentcore::testing::ScriptedReply reply;
  reply.deltas.assign(1000, "halt ");
  reply.interval = milliseconds(50);
  return reply;
}

}  // namespace

int main() {
  agentcore::testing::ManualClock clock;  // a game uses the clock of the system
  agentcore::Runtime runtime{{.clock = &clock, .log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime, long_answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};

  // [snippet: lease]
  const agentcore::Agent guards =
      tree.create({.id = "guards", .limits = {.lease = milliseconds(500)}}).value();
  const agentcore::Agent gate = guards.create_child({.id = "gate"}).value();  // the lease covers it, too
  auto changes = guards.on<agentcore::StateChanged>([](const agentcore::StateChanged& change) {
    if (change.to == agentcore::AgentState::stopped && change.cause == agentcore::StopCause::lease)
      std::printf("the guards were stopped: the game did not renew their lease\n");
  });
  if (!gate.send("Who comes there?")) return 1;

  for (int frame = 0; frame < 60; ++frame) {
    if (!guards.renew().took_effect()) return 1;  // in each frame: less than a microsecond
    runtime.run_for(milliseconds(16));            // a game calls poll(), and draws
  }
  // [/snippet]
  if (gate.state().value() != agentcore::AgentState::waiting_llm) return 1;

  clock.advance(milliseconds(600));  // the game hangs in a frame: no renewal, and no poll
  const agentcore::SendResult late = gate.send("Still there?");
  std::printf("a message is refused: %s\n", to_string(late.reason).data());
  if (late.accepted() || gate.state().value() != agentcore::AgentState::stopping) return 1;

  runtime.run_until_idle();  // the game goes on: the model call is cut, and the guards settle
  if (guards.renew().reason != agentcore::Errc::lease_expired || llm.open_calls() != 0) return 1;

  // Only a resume opens them again, with a whole lease.
  if (!guards.resume().took_effect() || !guards.renew().took_effect()) return 1;
  runtime.run_for(milliseconds(16));
  return gate.state().value() == agentcore::AgentState::idle ? 0 : 1;
}
