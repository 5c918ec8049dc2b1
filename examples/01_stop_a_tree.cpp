// Stop a tree of agents in mid-stream. Runs without a network: the model is scripted.
#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

agentcore::testing::ScriptedReply endless_answer(const agentcore::ChatRequest&) {
  agentcore::testing::ScriptedReply reply;
  reply.deltas = {"The first ", "beach is ", "quiet, "};
  reply.silent = true;  // nothing follows, and the answer does not end
  return reply;
}

}  // namespace

int main() {
  // [snippet: stop]
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};  // shows a callback that throws
  agentcore::testing::ScriptedClient llm{runtime, endless_answer};  // or an HttpLlmClient
  agentcore::AgentTree tree{runtime, {.llm = &llm}};

  std::size_t late = 0;
  bool stopped = false;
  auto events = tree.on_event([&](const agentcore::Event& event) {
    if (auto* delta = event.get<agentcore::DeltaReceived>()) {
      std::printf("%s: %.*s\n", delta->agent.id().c_str(), static_cast<int>(delta->text.size()),
                  delta->text.data());
      late += stopped;
    }
  });

  agentcore::Agent planner = tree.create({.id = "planner", .system_prompt = "You plan trips."}).value();
  agentcore::Agent scout = planner.create_child({.id = "scout"}).value();
  agentcore::SendResult sent = scout.send("Find three quiet beaches.");

  runtime.run_for(std::chrono::milliseconds(20));  // or poll() from your own loop: it never blocks

  agentcore::VerbResult result = planner.stop();  // any thread: planner, scout and all below, as one
  stopped = true;
  expect(sent.accepted() && result.took_effect() && scout.state().value() == agentcore::AgentState::stopping);

  expect(runtime.run_until_idle().is_idle());
  expect(scout.state().value() == agentcore::AgentState::stopped && llm.open_calls() == 0 && late == 0);
  expect(scout.send("Still there?").reason == agentcore::Errc::agent_stopped);
  // [/snippet]
  std::printf("%s is %s, %zu late deltas\n", scout.id().c_str(), to_string(*scout.state()).data(), late);
  return result.accepted() && late == 0 ? 0 : 1;
}
