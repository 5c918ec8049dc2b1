// Stops and deletes that meet each other half-way, one step of the loop at a time.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/team.hpp"
#include "support/observe/event_audit.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using agentcore::test::Audit;
using agentcore::test::Dice;
using agentcore::test::drive;
using agentcore::test::FakeClient;

namespace {

// A loop whose polls take one step of each kind, and a tree of seven agents: a root, two children, four
// leaves.
struct SlowTree {
  testing::ManualClock clock;
  FakeClient client;
  Runtime runtime{{.clock = &clock, .seed = 1, .poll_budget = Duration(0)}};
  AgentTree tree{runtime, {.llm = &client}};
  Audit audit{tree};
  std::vector<Agent> agents{tree.create().value()};

  SlowTree() {
    for (std::size_t i = 1; i < 7; ++i) agents.push_back(agents[(i - 1) / 2].create_child().value());
  }
  void poll(int times) {
    while (times-- > 0) runtime.poll();
  }
  // Has an open call.
  void ask(std::size_t agent) {
    const std::size_t before = client.open_calls().size();
    static_cast<void>(agents[agent].send("question"));
    for (int i = 0; i < 20 && client.open_calls().size() == before; ++i) runtime.poll();
  }
};

}  // namespace

TEST_CASE("an agent settles if its last call ends while the settling walk visits it",
          "[stop][G4][G13][X13]") {
  using Verb = std::function<void(const Agent&)>;
  const Verb stop = [](const Agent& agent) { static_cast<void>(agent.stop()); };
  const Verb stop_alone = [](const Agent& agent) { static_cast<void>(agent.stop({.scope = Scope::agent})); };
  const Verb terminate = [](const Agent& agent) { static_cast<void>(agent.terminate()); };
  const std::vector<Verb> verbs{stop, stop_alone, terminate};
  for (std::size_t which = 0; which < 7; ++which) {
    for (std::size_t above = 0; above <= which; ++above) {
      for (std::size_t pair = 0; pair < 9; ++pair) {
        for (int steps = 0; steps < 24; ++steps) {
          SlowTree slow;
          slow.ask(which);
          verbs[pair % 3](slow.agents[which]);
          slow.poll(12);  // the walk has passed it; it waits for its call
          verbs[pair / 3](slow.agents[above]);
          slow.poll(steps);
          slow.client.cancel_stopped();
          const std::string rest = drive(slow.runtime, slow.tree);
          static_cast<void>(slow.agents[0].terminate());
          const std::string end = drive(slow.runtime, slow.tree);
          if (rest.empty() && end.empty() && slow.tree.size() == 0 && slow.audit.problem.empty()) continue;
          FAIL("agent " << which << ", then " << above << ", verbs " << pair << ", " << steps << " steps: "
                        << rest << " " << end << " " << slow.audit.problem << " left " << slow.tree.size());
        }
      }
    }
  }
}

TEST_CASE("any verbs in any order settle one step of the loop at a time", "[stop][G3][G4][G7][G12][G13]") {
  for (std::uint64_t seed = 0; seed < agentcore::test::amount<std::uint64_t>(3000, 300); ++seed) {
    Dice dice(seed);
    SlowTree slow;
    std::size_t accepted = 0, reports = 0, reports_wanted = 0;
    const auto told = [&](const auto&) { ++reports; };
    for (int step = 0; step < 60; ++step) {
      const Agent agent = slow.agents[dice.below(slow.agents.size())];
      switch (dice.below(12)) {
        case 0:
          reports_wanted += agent.stop({.on_settled = told}).accepted();
          break;
        case 1:
          reports_wanted += agent.stop({.scope = Scope::agent, .on_settled = told}).accepted();
          break;
        case 2:
          reports_wanted += agent.terminate({.on_settled = told}).accepted();
          break;
        case 3:
          static_cast<void>(agent.abort());
          break;
        case 4:
          static_cast<void>(agent.resume({.scope = dice.below(2) == 0 ? Scope::subtree : Scope::agent}));
          break;
        case 5:
          slow.client.cancel_stopped();
          break;
        case 6:
          slow.client.answer_all();
          break;
        case 7:
          if (const auto child = agent.create_child()) slow.agents.push_back(*child);
          break;
        case 8:
          for (FakeClient::Call* const call : slow.client.open_calls()) call->sink.delta("word");
          break;
        case 9:
          slow.clock.advance(std::chrono::seconds(2));
          break;
        default:
          accepted += agent.send("question").accepted();
      }
      slow.poll(static_cast<int>(dice.below(6)));
    }
    const std::string rest = drive(slow.runtime, slow.tree, slow.client);
    INFO("seed " << seed);
    REQUIRE(rest == "");
    REQUIRE(slow.audit.problem == "");
    REQUIRE(slow.audit.turns_started == slow.audit.turns_ended);
    REQUIRE(accepted == slow.audit.turns_started + slow.audit.dropped);
    REQUIRE(reports == reports_wanted);
    slow.tree.walk([](const Agent& agent) {
      REQUIRE((agent.state().value() == AgentState::idle || agent.state().value() == AgentState::stopped));
    });
    static_cast<void>(slow.agents[0].terminate());
    REQUIRE(drive(slow.runtime, slow.tree, slow.client) == "");
    REQUIRE(slow.tree.size() == 0);
    REQUIRE(slow.audit.problem == "");
  }
}

TEST_CASE("a stop and a delete of its parent settle with a stopped agent below", "[stop][G4][G13][X13][E2]") {
  SlowTree slow;
  static_cast<void>(slow.agents[3].stop());
  REQUIRE(drive(slow.runtime, slow.tree) == "");
  static_cast<void>(slow.agents[1].stop());
  static_cast<void>(slow.agents[0].terminate());
  REQUIRE(drive(slow.runtime, slow.tree) == "");
  CHECK(slow.tree.size() == 0);
  CHECK(slow.audit.deleted == 7);
  CHECK(slow.audit.problem == "");
}

TEST_CASE("a stop waits for running agents below an agent that was stopped alone", "[stop][G3][G4]") {
  SlowTree slow;
  static_cast<void>(slow.agents[1].stop({.scope = Scope::agent}));
  REQUIRE(drive(slow.runtime, slow.tree) == "");
  slow.ask(3);
  int reports = 0;
  static_cast<void>(slow.agents[0].stop({.on_settled = [&](const StopReport&) { ++reports; }}));
  slow.poll(60);
  CHECK(slow.agents[0].state().value() == AgentState::stopping);
  CHECK(slow.agents[3].state().value() == AgentState::stopping);
  CHECK(reports == 0);
  slow.client.cancel_stopped();
  REQUIRE(drive(slow.runtime, slow.tree) == "");
  CHECK(slow.agents[0].state().value() == AgentState::stopped);
  CHECK(reports == 1);

  // A resume brings back what stopped because of that stop, not what was stopped by itself.
  CHECK(slow.agents[0].resume().took_effect());
  REQUIRE(drive(slow.runtime, slow.tree) == "");
  CHECK(slow.agents[0].state().value() == AgentState::idle);
  CHECK(slow.agents[1].state().value() == AgentState::stopped);
  CHECK(slow.agents[3].state().value() == AgentState::idle);
  CHECK(slow.audit.problem == "");
}

TEST_CASE("a stop that is widened to the children has to settle before a resume", "[stop][G3][G4]") {
  SlowTree slow;
  slow.ask(3);
  static_cast<void>(slow.agents[1].stop({.scope = Scope::agent}));
  slow.poll(20);
  REQUIRE(slow.agents[1].state().value() == AgentState::stopped);
  CHECK(slow.agents[3].state().value() == AgentState::waiting_llm);

  CHECK(slow.agents[1].stop().took_effect());
  CHECK(slow.agents[1].resume().reason == Errc::agent_stopping);
  slow.poll(20);
  CHECK(slow.agents[1].resume().reason == Errc::agent_stopping);
  slow.client.cancel_stopped();
  REQUIRE(drive(slow.runtime, slow.tree) == "");
  CHECK(slow.agents[3].state().value() == AgentState::stopped);
  CHECK(slow.agents[1].resume().took_effect());
  REQUIRE(drive(slow.runtime, slow.tree) == "");
  for (const std::size_t agent : {1U, 3U, 4U}) CHECK(slow.agents[agent].state().value() == AgentState::idle);
  CHECK(slow.audit.problem == "");
}

TEST_CASE("a late stop is reported at once even after a resume", "[stop][G4][C12]") {
  SlowTree slow;
  static_cast<void>(slow.agents[0].stop());
  REQUIRE(drive(slow.runtime, slow.tree) == "");
  int reports = 0;
  CHECK_FALSE(slow.agents[0].stop({.on_settled = [&](const StopReport&) { ++reports; }}).took_effect());
  CHECK(slow.agents[0].resume().took_effect());
  REQUIRE(drive(slow.runtime, slow.tree) == "");
  CHECK(reports == 1);
  CHECK(slow.agents[0].state().value() == AgentState::idle);
}

TEST_CASE("a message whose turn is stopped at its beginning has a turn", "[stop][G7][G12]") {
  for (const bool by_event : {true, false}) {
    SlowTree slow;
    int handled = 0;
    AgentSpec spec;
    spec.handler = [&](const Agent&, const Message&) { ++handled; };
    for (const Agent& agent : {slow.agents[6], slow.tree.create(spec).value()}) {
      const auto events = slow.tree.on_event([&](const Event& event) {
        if (by_event && event.get<TurnStarted>()) static_cast<void>(agent.stop());
      });
      const auto states = slow.tree.on<StateChanged>([&](const StateChanged& change) {
        if (!by_event && can_process(change.to)) static_cast<void>(agent.stop());
      });
      REQUIRE(agent.send("question").accepted());
      REQUIRE(drive(slow.runtime, slow.tree) == "");
      CHECK(agent.state().value() == AgentState::stopped);
      CHECK(is_valid_history(agent.conversation().value()));
    }
    CHECK(handled == 0);
    CHECK(slow.client.calls() == 0);
    CHECK(slow.audit.turns_started == 2);
    CHECK(slow.audit.turns_ended == 2);
    CHECK(slow.audit.problem == "");
  }
}

TEST_CASE("a widened stop that walks below a delete leaves nothing behind for it", "[stop][G4][G13][X13]") {
  SlowTree slow;
  const Agent leaf = slow.agents[3].create_child().value();
  static_cast<void>(leaf.stop());
  static_cast<void>(slow.agents[1].stop({.scope = Scope::agent}));
  REQUIRE(drive(slow.runtime, slow.tree) == "");
  slow.ask(3);
  // The widened stop walks first and finds the gate of the delete closed above: agent 3 waits for its call,
  // and the leaf, which had stopped before, is still to be deleted.
  CHECK(slow.agents[1].stop().took_effect());
  CHECK(slow.agents[0].terminate().took_effect());
  slow.poll(100);
  slow.client.cancel_stopped();
  CHECK(drive(slow.runtime, slow.tree) == "");
  CHECK(slow.tree.size() == 0);
  CHECK(slow.audit.problem == "");
}

TEST_CASE("a completion callback may destroy the tree between two rounds", "[stop][Q3]") {
  Runtime runtime;
  auto tree = std::make_unique<AgentTree>(runtime);
  const Agent victim = tree->create().value();
  int handled = 0;
  AgentSpec spec;
  spec.handler = [&](const Agent&, const Message&) {
    ++handled;
    static_cast<void>(victim.stop({.on_settled = [&](const StopReport&) { tree.reset(); }}));
  };
  const Agent first = tree->create(spec).value();
  const Agent second = tree->create(spec).value();
  static_cast<void>(first.send("x"));
  static_cast<void>(second.send("x"));
  runtime.poll();
  CHECK(tree == nullptr);
  CHECK(handled == 1);
  CHECK(second.send("x").reason == Errc::agent_not_found);
}
