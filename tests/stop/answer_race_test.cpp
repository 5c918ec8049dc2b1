// Stop and abort against the answer of a model, on real threads.
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/team.hpp"
#include "support/observe/event_audit.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/history.hpp>
#include <agentcore/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>

using namespace agentcore;
using agentcore::test::Audit;
using agentcore::test::drive;
using agentcore::test::FakeClient;
using agentcore::test::Team;

TEST_CASE("in a race of a stop and an answer one of them ends the turn", "[stop][race][G1][G7][C4][C13]") {
  FakeClient client;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  Audit audit(tree);
  std::atomic<bool> quiet{false}, loud{false};
  int after_quiet = 0, after_loud = 0, most_after_loud = 0, quiet_rounds = 0;
  const auto watch = tree.on_event([&](const Event& event) {
    const auto* end = event.get<TurnEnded>();
    const bool action = event.get<DeltaReceived>() || event.get<TurnStarted>() ||
                        (end && end->result->outcome == TurnOutcome::completed);
    after_quiet += action && quiet.load();
    after_loud += action && loud.load();
  });
  Team team(1);
  bool valid = true;
  for (int round = 0; round < 3000; ++round) {
    quiet = loud = false;
    after_loud = 0;
    const Agent parent = tree.create().value();
    const Agent agent = parent.create_child().value();
    static_cast<void>(agent.send("a"));
    static_cast<void>(agent.send("b"));
    runtime.poll();
    team.run(
        [&](int) {
          const VerbResult stop = (round % 2 ? agent : parent).stop();
          (stop.quiet ? quiet : loud) = true;
        },
        [&] {
          for (FakeClient::Call* const call : client.open_calls()) {
            call->sink.delta("word");
            FakeClient::complete(*call);
          }
          runtime.poll();
        });
    REQUIRE(drive(runtime, tree, client) == "");
    quiet_rounds += quiet.load();
    most_after_loud = std::max(most_after_loud, after_loud);
    quiet = loud = false;
    valid = valid && is_valid_history(agent.conversation().value()) &&
            agent.state().value() == AgentState::stopped;
    static_cast<void>(parent.terminate());
    REQUIRE(drive(runtime, tree, client) == "");
    audit.sweep();
  }
  INFO(quiet_rounds << " of 3000 stops were quiet");
  CHECK(after_quiet == 0);
  CHECK(most_after_loud <= 1);
  CHECK(valid);
  CHECK(audit.turns_started == audit.turns_ended);
  CHECK(audit.problem == "");
  CHECK(client.open_calls().size() == 0);
  CHECK(tree.size() == 0);
}

TEST_CASE("in a race of an abort and an answer one of them ends the turn",
          "[stop][race][G1][G10][A14][A17][X3][X25]") {
  FakeClient client;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  Audit audit(tree);
  Team team(2);
  Agent agent;
  std::atomic<std::size_t> aborted{0}, failed{0};
  std::size_t sent = 0;
  bool idle_after = true;
  bool valid = true;
  for (int round = 0; round < 3000; ++round) {
    if (round % 20 == 0) {
      if (round > 0) valid = valid && is_valid_history(agent.conversation().value());
      static_cast<void>(agent.terminate());
      agent = tree.create().value();
    }
    for (int i = 0; i < 3; ++i) sent += agent.send("question").accepted();
    runtime.poll();
    team.run(
        [&](int) {
          const VerbResult abort = agent.abort();
          aborted += abort.took_effect();
          failed += !abort.accepted();
        },
        [&] {
          if (round % 2) client.cancel_stopped();
          client.answer_all();
          runtime.poll();
        });
    REQUIRE(drive(runtime, tree, client) == "");
    idle_after = idle_after && agent.state().value() == AgentState::idle && agent.queue_length().value() == 0;
  }
  INFO(aborted << " aborts hit");
  CHECK(idle_after);
  CHECK(failed == 0);
  CHECK(audit.turns_aborted == aborted);
  CHECK(audit.turns_started == sent);
  CHECK(audit.turns_ended == sent);
  CHECK(valid);
  CHECK(audit.problem == "");
}
