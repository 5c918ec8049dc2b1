// Every verb against every other, with slots being recycled, on real threads.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/team.hpp"
#include "support/observe/event_audit.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/history.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/references.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

using namespace agentcore;
using agentcore::test::Audit;
using agentcore::test::Dice;
using agentcore::test::drive;
using agentcore::test::FakeClient;
using agentcore::test::Team;

namespace {

// One call of a random verb, by handle or by id.
void act_at_random(Dice& dice, AgentTree& tree, const Agent& agent, const std::string& id) {
  switch (dice.below(26)) {
    case 0:
      static_cast<void>(agent.stop());
      break;
    case 1:
      static_cast<void>(agent.stop({.scope = Scope::agent}));
      break;
    case 2:
      static_cast<void>(agent.abort());
      break;
    case 3:
      static_cast<void>(agent.abort({.queue = QueueAction::drop}));
      break;
    case 4:
      static_cast<void>(agent.resume());
      break;
    case 5:
      static_cast<void>(agent.terminate());
      break;
    case 6:
      static_cast<void>(agent.state());
      break;
    case 7:
      static_cast<void>(agent.id());
      break;
    case 8:
      static_cast<void>(tree.find(id).value_or(Agent{}).stop());
      break;
    case 9:
      static_cast<void>(tree.find(id).value_or(Agent{}).state());
      break;
    case 10:
      static_cast<void>(agent.queue_length().has_value());
      break;
    case 11:
      static_cast<void>(agent.interrupt());
      break;
    case 12:
      static_cast<void>(agent.interrupt({.queue = QueueAction::hold}));
      break;
    case 13:
      static_cast<void>(agent.release_queue());
      break;
    case 14:
      static_cast<void>(agent.interrupt({.scope = Scope::subtree, .queue = QueueAction::drop}));
      break;
    case 15:
      if (const SendResult sent = agent.send("mine"))
        static_cast<void>(agent.interrupt({.message = sent.id}));
      break;
    case 18:
    case 19:
      static_cast<void>(agent.pause());
      break;
    case 20:
    case 21:
      static_cast<void>(agent.unpause());
      break;
    case 22:
      static_cast<void>(agent.stop({.when = StopWhen::after_turn}));
      break;
    case 23:
      static_cast<void>(agent.stop({.when = StopWhen::after_step, .escalate_after = Duration(0)}));
      break;
    case 24:
      static_cast<void>(agent.terminate({.when = StopWhen::after_step}));
      break;
    case 25:
      static_cast<void>(agent.renew());
      static_cast<void>(agent.status());
      break;
    case 16: {
      const Agent copy = agent;
      static_cast<void>(copy.send("by a copy"));
      break;
    }
    default:
      if (const auto found = tree.find(id)) static_cast<void>(found->send("by id"));
  }
}

}  // namespace

TEST_CASE("every verb races with every other while slots are recycled",
          "[stop][race][G2][G4][G7][G12][G13][D17][B18]") {
  // With no time at all a poll takes one step of each kind, so that walks and verbs meet half-way.
  const Duration budget = GENERATE(Duration(0), Duration(std::chrono::milliseconds(4)));
  FakeClient client;
  Runtime runtime({.poll_budget = budget});
  AgentTree tree(runtime, {.llm = &client});
  Audit audit(tree);
  Team team(3);
  bool valid = true, none_left = true;
  for (int round = 0; round < agentcore::test::amount(2000, 200); ++round) {
    std::vector<Agent> agents;
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::string id = "agent-" + std::to_string(i);
      AgentSpec spec;
      spec.id = id;
      spec.auto_resume = i == 5;
      if (i == 6) spec.limits.lease = std::chrono::microseconds(200);
      agents.push_back(i == 0 ? tree.create(spec).value() : agents[(i - 1) / 2].create_child(spec).value());
      ids.push_back(i % 2 ? id : agents.back().id());
    }
    Dice loop_dice(static_cast<std::uint64_t>(round));
    team.run(
        [&](int member) {
          Dice dice(static_cast<std::uint64_t>(round * 8 + member + 1000));
          for (int i = 0; i < 20; ++i) {
            const std::size_t which = dice.below(agents.size());
            act_at_random(dice, tree, agents[which], ids[which]);
          }
        },
        [&] {
          if (tree.size() < 40) static_cast<void>(agents[loop_dice.below(agents.size())].create_child());
          for (FakeClient::Call* const call : client.open_calls())
            if (loop_dice.below(2)) call->sink.delta("word");
          if (loop_dice.below(2)) client.answer_all();
          runtime.poll();
        });
    for (const Agent& agent : agents) static_cast<void>(agent.unpause());
    static_cast<void>(agents[6].stop());  // its lease could run out while the tree is looked at
    REQUIRE(drive(runtime, tree, client) == "");
    tree.walk([&](const Agent& agent) {
      const AgentState state = agent.state().value();
      valid = valid && (state == AgentState::idle || state == AgentState::stopped);
      valid = valid && is_valid_history(agent.conversation().value());
    });
    for (const Agent& root : tree.roots()) static_cast<void>(root.terminate());
    REQUIRE(drive(runtime, tree, client) == "");
    for (const std::string& id : ids) none_left = none_left && testing::count_references(tree, id) == 0;
    none_left = none_left && tree.size() == 0;
    audit.sweep();
  }
  CHECK(valid);
  CHECK(none_left);
  CHECK(audit.turns_started == audit.turns_ended);
  CHECK(client.open_calls().size() == 0);
  CHECK(client.histories_were_valid());
  CHECK(audit.problem == "");
}

TEST_CASE("in a race of resume and stop messages are kept or counted and states connect",
          "[stop][race][G2][G3][X4]") {
  Runtime runtime;
  AgentTree tree(runtime);
  Audit audit(tree);
  Team team(3);
  std::atomic<std::size_t> accepted{0}, stops{0};
  bool orderly = true;
  for (int round = 0; round < agentcore::test::amount(2000, 200); ++round) {
    AgentSpec spec;
    spec.handler = [](const Agent&, const Message&) {};
    const Agent root = tree.create(spec).value();
    const Agent child = root.create_child(spec).value();
    spec.auto_resume = true;
    const Agent grandchild = child.create_child(spec).value();
    team.run(
        [&](int member) {
          Dice dice(static_cast<std::uint64_t>(round * 4 + member));
          for (int i = 0; i < 24; ++i) {
            const Agent& agent = dice.below(3) == 0 ? root : dice.below(2) ? child : grandchild;
            if (member == 0)
              stops +=
                  agent.stop({.scope = dice.below(4) != 0 ? Scope::subtree : Scope::agent}).took_effect();
            else if (member == 1)
              static_cast<void>(agent.resume());
            else
              accepted += agent.send("x").accepted();
          }
        },
        [&] { runtime.poll(); });
    REQUIRE(drive(runtime, tree) == "");
    for (const Agent& agent : {root, child, grandchild}) {
      const AgentState state = agent.state().value();
      orderly = orderly && (state == AgentState::idle || state == AgentState::stopped) &&
                agent.queue_length().value() == 0;
    }
    // With everything at rest a stop works, and so does a resume of all that is stopped, from the top.
    static_cast<void>(root.stop());
    REQUIRE(drive(runtime, tree) == "");
    for (const Agent& agent : {root, child, grandchild}) {
      orderly = orderly && agent.state().value() == AgentState::stopped;
    }
    for (const Agent& agent : {root, child, grandchild}) {
      if (agent.state().value() == AgentState::stopped) orderly = orderly && agent.resume().took_effect();
      REQUIRE(drive(runtime, tree) == "");
      orderly = orderly && agent.state().value() == AgentState::idle;
    }
    static_cast<void>(root.terminate());
    REQUIRE(drive(runtime, tree) == "");
    audit.sweep();
  }
  INFO(stops << " stops, " << accepted << " messages");
  CHECK(orderly);
  CHECK(accepted == audit.turns_started + audit.dropped);
  CHECK(audit.turns_started == audit.turns_ended);
  CHECK(audit.problem == "");
  CHECK(tree.size() == 0);
}

TEST_CASE("another thread never sees a stopped or deleted agent return to an earlier state",
          "[stop][race][G3][B13][X13][X33]") {
  FakeClient client;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  Audit audit(tree);
  Team team(4);
  // Without a resume states only ever rise in this order.
  const auto rank = [](const Result<AgentState>& state) {
    if (!state) return 4;
    return can_process(*state)              ? 0
           : *state == AgentState::stopping ? 1
           : *state == AgentState::stopped  ? 2
                                            : 3;
  };
  std::atomic<int> backwards{0};
  for (int round = 0; round < agentcore::test::amount(1500, 150); ++round) {
    const Agent root = tree.create().value();
    const Agent child = root.create_child().value();
    const Agent leaf = child.create_child().value();
    static_cast<void>(leaf.send("work"));
    Dice dice(static_cast<std::uint64_t>(round));
    const bool delete_child = dice.below(2), stop_leaf = dice.below(2);
    const bool stop_child = dice.below(2), alone = dice.below(2);
    team.run(
        [&](int member) {
          if (member == 0) {
            static_cast<void>((stop_leaf ? leaf : child).stop());
            static_cast<void>((delete_child ? child : root).terminate());
            static_cast<void>(root.stop());
            static_cast<void>(root.terminate());
            return;
          }
          if (member == 3) {
            static_cast<void>(
                (stop_child ? child : root).stop({.scope = !alone ? Scope::subtree : Scope::agent}));
            static_cast<void>((stop_child ? root : child).stop());
            return;
          }
          const Agent& watched = member == 1 ? leaf : child;
          for (int before = 0, looks = 0; before < 4 && looks < 200; ++looks) {
            const int now = rank(watched.state());
            backwards += now < before;
            before = now;
          }
        },
        [&] {
          client.answer_all();
          runtime.poll();
        });
    INFO("round " << round << ", deletes " << (delete_child ? "child" : "root") << " first, stops "
                  << (stop_leaf ? "leaf" : "child"));
    REQUIRE(drive(runtime, tree, client) == "");
    REQUIRE(tree.size() == 0);
    audit.sweep();
  }
  CHECK(backwards == 0);
  CHECK(audit.problem == "");
}

TEST_CASE("the stop that took effect is reported before those that joined it", "[stop][race][G10][X32]") {
  Runtime runtime;
  AgentTree tree(runtime, {});
  const Agent agent = tree.create().value();
  Team team(3);
  for (int round = 0; round < agentcore::test::amount(3000, 300); ++round) {
    std::vector<int> reported;
    std::atomic<int> winner{-1};
    team.run(
        [&](int member) {
          const VerbResult result = agent.stop(
              {.on_settled = [&reported, member](const StopReport&) { reported.push_back(member); }});
          if (result.took_effect()) winner = member;
        },
        [] {});
    while (runtime.poll()) {
    }
    REQUIRE(reported.size() == 3);
    REQUIRE(reported.front() == winner);
    REQUIRE(agent.resume().took_effect());
  }
}
