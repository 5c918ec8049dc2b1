// The properties of the abort design (S0) that concern the core.
#include "property/forest.hpp"
#include "support/prop.hpp"

using namespace agentcore;
using namespace agentcore::test;

namespace {

using Plants = std::vector<Plant>;

std::vector<std::string> snapshot(const Forest& f) {
  std::vector<std::string> all;
  for (const Agent& agent : f.agents)
    all.push_back(agent.id() + " " +
                  (agent.exists() ? std::string(to_string(agent.state().value())) : "gone") + " " +
                  std::to_string(agent.queue_length()) + " " + written(agent.conversation()));
  return all;
}

}  // namespace

TEST_CASE("S0-P2: a call is registered before it starts and no longer after it ended",
          "[property][S0-P2][A2][A3][X11]") {
  prop("an agent waits for its model exactly while its newest call is open and not stopped",
       [](const Plants& plants, int who, int how) {
         Forest f(plants);
         const Agent& agent = f.pick(who & 0xff);
         bool inside = false;
         f.t.llm->on_chat = [&](FakeClient&, FakeClient::Call& call) {
           inside = agent.state().value() == AgentState::waiting_llm && f.t.tree->busy() &&
                    !call.stop.stop_requested();
         };
         if (is_stopped(agent.state().value())) {
           static_cast<void>(agent.resume());
           f.finish();
         }
         RC_PRE(can_process(agent.state().value()));
         if (agent.state().value() == AgentState::waiting_llm) {
           RC_ASSERT(agent.abort().aborted);
           static_cast<void>(agent.send("next"));  // there may be enough in its queue
         } else {
           RC_ASSERT(agent.send("next").accepted);
         }
         f.t.poll();
         RC_ASSERT(inside);
         RC_ASSERT(agent.state().value() == AgentState::waiting_llm);
         FakeClient::Call* const call = f.t.llm->find(agent.id());
         RC_ASSERT(call != nullptr);
         static_cast<void>(agent.clear_queue());
         if (how % 3 == 0)
           FakeClient::finish(*call, ChatOutcome::completed(FinishReason::complete));
         else if (how % 3 == 1)
           FakeClient::finish(*call, ChatOutcome::failed({Errc::network_error, ""}));
         else
           RC_ASSERT(agent.abort().aborted);
         RC_ASSERT(agent.state().value() == AgentState::idle);
         RC_ASSERT(!agent.abort().aborted);
       });
}

TEST_CASE("S0-P3: after an abort the agent is idle and takes messages", "[property][S0-P3][A14][A17]") {
  prop("every aborted agent is idle, answers its next message, and nobody else was touched",
       [](const Plants& plants, int who) {
         Forest f(plants);
         const Agent& agent = f.pick(who & 0xff);
         RC_PRE(agent.state().value() == AgentState::waiting_llm);
         static_cast<void>(agent.clear_queue());
         const AbortResult result = agent.abort();
         RC_ASSERT((result.ok && result.aborted));
         RC_ASSERT(agent.state().value() == AgentState::idle);
         f.t.settle();
         RC_ASSERT(agent.state().value() == AgentState::idle);
         RC_ASSERT(f.t.seen.count("ended") == 1U);
         RC_ASSERT(agent.send("next").accepted);
         f.t.settle();
         RC_ASSERT(agent.state().value() == AgentState::waiting_llm);
         f.t.llm->answer(agent.id(), "answer");
         f.t.settle();
         RC_ASSERT(agent.conversation().back().content == "answer");
         RC_ASSERT(f.t.seen.violations.empty());
       });
}

TEST_CASE("S0-P4: an abort without a call succeeds and changes nothing", "[property][S0-P4][A13][A20]") {
  prop("an abort of an agent that waits for no model leaves every state, queue and history as it was",
       [](const Plants& plants, int who, bool clear) {
         Forest f(plants);
         const Agent& agent = f.pick(who & 0xff);
         RC_PRE(agent.state().value() != AgentState::waiting_llm);
         const auto before = snapshot(f);
         const AbortResult result = agent.abort({.clear_queue = clear});
         RC_ASSERT((result.ok && !result.aborted && result.reason == Errc::not_waiting_llm));
         RC_ASSERT(snapshot(f) == before);
         f.t.settle();
         RC_ASSERT(snapshot(f) == before);
         RC_ASSERT(f.t.seen.lines.empty());
       });
}

TEST_CASE("S0-P5: an abort leaves the history valid and drops what was partial",
          "[property][S0-P5][A18][A19][G8]") {
  prop("whenever the abort comes, the history is valid, and nothing of the aborted answer is in it",
       [](const Plants& plants, int who, int deltas, bool late) {
         Forest f(plants);
         const Agent& agent = f.pick(who & 0xff);
         RC_PRE(agent.state().value() == AgentState::waiting_llm);
         static_cast<void>(agent.clear_queue());
         FakeClient::Call* const call = f.t.llm->find(agent.id());
         for (int i = 0; i < (deltas & 3); ++i) call->sink.delta("PARTIAL");
         const auto before = agent.conversation();
         RC_ASSERT(agent.abort().aborted);
         if (late && call->open()) FakeClient::finish(*call, ChatOutcome::completed(FinishReason::complete));
         f.t.settle();
         const auto after = agent.conversation();
         RC_ASSERT(is_valid_history(after));
         RC_ASSERT(after.size() == before.size());
         RC_ASSERT(after.back().role == Role::user);
         RC_ASSERT(after.back().interruption == Interruption::aborted);
         RC_ASSERT(written(after).find("PARTIAL") == std::string::npos);
         RC_ASSERT(f.t.seen.violations.empty());
       });
}
