// Stop against spawn, against send and against other stops, on real threads.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/team.hpp"
#include "support/observe/event_audit.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

using namespace agentcore;
using agentcore::test::Audit;
using agentcore::test::Dice;
using agentcore::test::drive;
using agentcore::test::Team;

namespace {

AgentSpec handled_by(MessageHandler handler) {
  AgentSpec spec;
  spec.handler = std::move(handler);
  return spec;
}

}  // namespace

TEST_CASE("a child made during a stop is inside it or refused", "[stop][race][G2][C10][E6]") {
  Runtime runtime;
  AgentTree tree(runtime);
  Audit audit(tree);
  Team team(1);
  bool all_refused_for_a_reason = true;
  bool all_stopped = true;
  for (int round = 0; round < agentcore::test::amount(2000, 200); ++round) {
    const Agent root = tree.create().value();
    std::vector<Agent> made{root};
    Dice dice(static_cast<std::uint64_t>(round));
    VerbResult stop;
    team.run([&](int) { stop = root.stop(); },
             [&] {
               const auto child = made[dice.below(made.size())].create_child();
               if (child) made.push_back(*child);
               const Errc why = child ? Errc::none : child.error().code;
               all_refused_for_a_reason =
                   all_refused_for_a_reason && (child || why == Errc::agent_stopping ||
                                                why == Errc::agent_stopped || why == Errc::depth_limit);
               if (dice.below(8) == 0) runtime.poll();
             });
    all_refused_for_a_reason = all_refused_for_a_reason && !root.create_child();
    const std::size_t before = audit.settled;
    REQUIRE(drive(runtime, tree) == "");
    for (const Agent& agent : made) all_stopped = all_stopped && agent.state().value() == AgentState::stopped;
    if (!stop.took_effect() || audit.settled < before) all_stopped = false;
    static_cast<void>(root.terminate());
    REQUIRE(drive(runtime, tree) == "");
    audit.sweep();
    if (tree.size() != 0) FAIL("agents were left behind: " << tree.size());
  }
  CHECK(all_refused_for_a_reason);
  CHECK(all_stopped);
  CHECK(audit.problem == "");
}

TEST_CASE("every message that was accepted is handled or counted as dropped",
          "[stop][race][G1][G2][G12][C3][C7]") {
  Runtime runtime;
  AgentTree tree(runtime);
  Audit audit(tree);
  Team team(3);
  std::atomic<bool> quiet{false}, loud{false};
  int late_after_quiet = 0, late_after_loud = 0, most_late_after_loud = 0, quiet_rounds = 0;
  std::atomic<std::size_t> accepted{0}, unexplained{0};
  const auto handler = [&](const Agent&, const Message&) {
    late_after_quiet += quiet.load();
    late_after_loud += loud.load();
  };
  std::size_t reported = 0, expected_reported = 0;
  for (int round = 0; round < 1500; ++round) {
    quiet = loud = false;
    late_after_loud = 0;
    const Agent root = tree.create(handled_by(handler)).value();
    const Agent child = root.create_child(handled_by(handler)).value();
    const Agent grandchild = child.create_child(handled_by(handler)).value();
    const std::size_t dropped_before = audit.dropped;
    team.run(
        [&](int member) {
          if (member == 0) {
            const VerbResult stop = root.stop(
                {.on_settled = [&](const StopReport& report) { reported += report.messages_dropped; }});
            (stop.quiet ? quiet : loud) = true;
            return;
          }
          for (int i = 0; i < 12; ++i) {
            const SendResult sent = (i % 3 == 0 ? root : i % 3 == 1 ? child : grandchild).send("x");
            accepted += sent.accepted();
            unexplained +=
                !sent.accepted() && sent.reason != Errc::agent_stopping && sent.reason != Errc::agent_stopped;
          }
        },
        [&] { runtime.poll(); });
    REQUIRE(drive(runtime, tree) == "");
    expected_reported += audit.dropped - dropped_before;
    most_late_after_loud = std::max(most_late_after_loud, late_after_loud);
    quiet_rounds += quiet.load();
    quiet = loud = false;
    static_cast<void>(root.terminate());
    REQUIRE(drive(runtime, tree) == "");
    audit.sweep();
  }
  INFO(quiet_rounds << " quiet stops, " << accepted << " messages");
  CHECK(late_after_quiet == 0);
  CHECK(most_late_after_loud <= 1);
  CHECK(unexplained == 0);
  CHECK(accepted == audit.turns_started + audit.dropped);
  CHECK(audit.turns_started == audit.turns_ended);
  CHECK(reported == expected_reported);
  CHECK(tree.size() == 0);
  CHECK(audit.problem == "");
}

TEST_CASE("of a hundred concurrent stops exactly one takes effect", "[stop][race][C12][S1-P11]") {
  const int rounds = agentcore::test::amount(2000, 200);
  Runtime runtime;
  AgentTree tree(runtime);
  Audit audit(tree);
  Team team(4);
  bool one_each = true, all_ok = true, all_reported = true;
  for (int round = 0; round < rounds; ++round) {
    const Agent root = tree.create().value();
    const Agent child = root.create_child().value();
    std::atomic<int> stopped{0}, refused{0};
    int reports = 0;
    team.run(
        [&](int) {
          for (int i = 0; i < 25; ++i) {
            const VerbResult stop = root.stop({.on_settled = [&](const StopReport&) { ++reports; }});
            stopped += stop.accepted() && stop.took_effect();
            refused += stop.accepted() && !stop.took_effect() &&
                       (stop.reason == Errc::agent_stopping || stop.reason == Errc::agent_stopped);
          }
        },
        [&] { runtime.poll(); });
    REQUIRE(drive(runtime, tree) == "");
    one_each = one_each && stopped == 1;
    all_ok = all_ok && stopped + refused == 100;
    all_reported = all_reported && reports == 100;
    static_cast<void>(root.terminate());
    REQUIRE(drive(runtime, tree) == "");
  }
  CHECK(one_each);
  CHECK(all_ok);
  CHECK(all_reported);
  CHECK(audit.settled == static_cast<std::size_t>(rounds) * 4);
  CHECK(audit.problem == "");
}

TEST_CASE("a parent and its child may be stopped from two threads", "[stop][race][G2][G4][C12]") {
  Runtime runtime;
  AgentTree tree(runtime);
  Audit audit(tree);
  Team team(2);
  bool all_stopped = true, parent_did = true, child_stays = true;
  for (int round = 0; round < agentcore::test::amount(2000, 200); ++round) {
    const Agent parent = tree.create().value();
    const Agent child = parent.create_child().value();
    const Agent grandchild = child.create_child().value();
    VerbResult results[2];
    team.run([&](int member) { results[member] = (member == 0 ? parent : child).stop(); },
             [&] { runtime.poll(); });
    REQUIRE(drive(runtime, tree) == "");
    for (const Agent& agent : {parent, child, grandchild})
      all_stopped = all_stopped && agent.state().value() == AgentState::stopped;
    parent_did = parent_did && results[0].took_effect() && results[1].accepted();
    // Who was stopped by itself, before or after its parent, stays stopped when the parent is resumed (G3).
    if (!parent.resume().took_effect()) all_stopped = false;
    REQUIRE(drive(runtime, tree) == "");
    for (const Agent& agent : {child, grandchild})
      child_stays = child_stays && agent.state().value() == AgentState::stopped;
    static_cast<void>(parent.terminate());
    REQUIRE(drive(runtime, tree) == "");
    audit.sweep();
  }
  CHECK(all_stopped);
  CHECK(parent_did);
  CHECK(child_stays);
  CHECK(audit.problem == "");
  CHECK(tree.size() == 0);
}

TEST_CASE("a stop reports quiet == false exactly while an action runs", "[stop][race][G1]") {
  Runtime runtime;
  AgentTree tree(runtime);
  Team team(1);
  std::atomic<bool> running{false}, returned{false};
  const auto handler = [&](const Agent&, const Message&) {
    running = true;
    while (!returned) std::this_thread::yield();
  };
  // The agent that is stopped while the child of the root handles a message.
  enum class Who { itself, above, below, beside, all };
  for (const Who who : {Who::itself, Who::above, Who::below, Who::beside, Who::all}) {
    for (int round = 0; round < 50; ++round) {
      running = returned = false;
      const Agent root = tree.create().value();
      const Agent agent = root.create_child(handled_by(handler)).value();
      const Agent below = agent.create_child().value();
      const Agent beside = root.create_child().value();
      static_cast<void>(agent.send("x"));
      VerbResult stop;
      team.run(
          [&](int) {
            while (!running) std::this_thread::yield();
            if (who == Who::all)
              stop = tree.stop_all();
            else
              stop = (who == Who::itself  ? agent
                      : who == Who::above ? root
                      : who == Who::below ? below
                                          : beside)
                         .stop();
            returned = true;
          },
          [&] { runtime.poll(); });
      REQUIRE(stop.took_effect());
      REQUIRE(stop.quiet == (who == Who::below || who == Who::beside));
      REQUIRE(drive(runtime, tree) == "");
      if (who == Who::all) REQUIRE(tree.resume_all().took_effect());
      static_cast<void>(root.terminate());
      REQUIRE(drive(runtime, tree) == "");
      REQUIRE(tree.size() == 0);
    }
  }
}
