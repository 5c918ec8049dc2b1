// Pauses and stops for later from other threads: nothing begins after them, and nothing is lost.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/team.hpp"
#include "support/observe/event_audit.hpp"
#include "support/sanitized.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

using namespace agentcore;
using agentcore::test::Audit;
using agentcore::test::Dice;
using agentcore::test::drive;
using agentcore::test::FakeClient;
using agentcore::test::Team;

namespace {

#ifdef RACES_WATCHED
constexpr int rounds = 200;  // ThreadSanitizer makes them about ten times slower
#else
const int rounds = agentcore::test::amount(600, 60);
#endif

// A parent with a model, and a child with a handler. Counts what begins.
struct Counted {
  Counted() {
    client.on_chat = [this](FakeClient&, FakeClient::Call&) { ++begun; };
    parent = tree.create({.llm = &client}).value();
    child = parent.create_child({.handler = [this](const Agent&, const Message&) { ++begun; }}).value();
    starts = tree.on<TurnStarted>([this](const TurnStarted&) { ++begun; });
  }
  // The loop's part of a race.
  void poll() {
    client.answer_all();
    client.cancel_stopped();
    runtime.poll();
  }
  // True if nothing has begun for some time. A yield may take a time slice of the other threads.
  bool stays(std::size_t count) const {
    for (int i = 0; i < 4; ++i) {
      if (begun != count) return false;
      std::this_thread::yield();
    }
    return begun == count;
  }

  FakeClient client;
  Runtime runtime;
  AgentTree tree{runtime};
  Audit audit{tree};
  std::atomic<std::size_t> begun{0};
  Agent parent, child;
  Subscription starts;
};

}  // namespace

TEST_CASE("nothing begins after a pause of another thread that was quiet", "[stop][race][pause][G1]") {
  Counted t;
  Team team(2);
  std::atomic<std::size_t> accepted{0}, quiet{0}, broken{0};
  for (int round = 0; round < rounds; ++round) {
    team.run(
        [&](int member) {
          Dice dice(static_cast<std::uint64_t>(round) * 2 + static_cast<std::uint64_t>(member));
          for (int i = 0; i < 4; ++i) {
            if (member == 0) {
              accepted += (dice.below(2) ? t.parent : t.child).send("x").accepted();
              continue;
            }
            const VerbResult paused = t.parent.pause();
            if (paused.took_effect() && paused.quiet) {
              ++quiet;
              broken += !t.stays(t.begun);
            }
            static_cast<void>(t.parent.unpause());
          }
        },
        [&] { t.poll(); });
    REQUIRE(drive(t.runtime, t.tree, t.client) == "");
  }
  INFO(quiet << " quiet pauses, " << t.begun << " beginnings");
  CHECK(quiet > 0);
  CHECK(broken == 0);
  CHECK(accepted == t.audit.turns_started);
  CHECK(t.audit.turns_started == t.audit.turns_ended);
  CHECK(t.audit.problem == "");
}

TEST_CASE("a stop for later is withdrawn or takes effect, and then nothing begins",
          "[stop][race][later][G1]") {
  Counted t;
  Team team(2);
  std::atomic<std::size_t> broken{0};
  std::size_t stopped = 0, withdrawn = 0;
  for (int round = 0; round < rounds; ++round) {
    // `resumes`: counted before the call, whose effect the other thread may see before it returns.
    std::atomic<int> requests{0}, resumes{0}, withdrawals{0};
    team.run(
        [&](int member) {
          Dice dice(static_cast<std::uint64_t>(round) * 2 + static_cast<std::uint64_t>(member));
          if (member == 0) {
            static_cast<void>((dice.below(2) ? t.parent : t.child).send("x"));
            const VerbResult result =
                t.parent.stop({.when = dice.below(2) ? StopWhen::after_turn : StopWhen::after_step});
            requests += result.took_effect();
            if (result.took_effect() && result.quiet && dice.below(2) && resumes == 0)
              broken += t.child.send("late").accepted() && resumes == 0;
            return;
          }
          if (!dice.below(2)) return;
          ++resumes;
          if (t.parent.resume().took_effect()) ++withdrawals;
        },
        [&] { t.poll(); });
    REQUIRE(drive(t.runtime, t.tree, t.client) == "");
    const AgentState state = t.parent.state().value();
    CHECK(state == (requests > withdrawals ? AgentState::stopped : AgentState::idle));
    (state == AgentState::stopped ? stopped : withdrawn) += 1;
    if (state == AgentState::stopped) REQUIRE(t.parent.resume().took_effect());
    REQUIRE(drive(t.runtime, t.tree, t.client) == "");
    REQUIRE(t.child.state().value() == AgentState::idle);
  }
  INFO(stopped << " stopped, " << withdrawn << " withdrawn");
  CHECK(stopped > 0);
  CHECK(withdrawn > 0);
  CHECK(broken == 0);
  CHECK(t.audit.turns_started == t.audit.turns_ended);
  CHECK(t.audit.problem == "");
}

TEST_CASE("a resume reopens a child that another thread pauses meanwhile", "[stop][race][pause][G3]") {
  Counted t;
  Team team(1);
  std::size_t left = 0;
  for (int round = 0; round < rounds; ++round) {
    REQUIRE(t.parent.stop().took_effect());
    REQUIRE(drive(t.runtime, t.tree, t.client) == "");
    REQUIRE(t.parent.resume().took_effect());
    team.run(
        [&](int) {
          for (int i = 0; i < 10; ++i)
            static_cast<void>(i % 2 ? t.child.unpause().took_effect() : t.child.pause().took_effect());
        },
        [&] { t.poll(); });
    REQUIRE(drive(t.runtime, t.tree, t.client) == "");
    left += t.child.state().value() != AgentState::idle;
  }
  CHECK(left == 0);
  CHECK(t.audit.problem == "");
}

TEST_CASE("a lease is renewed, or its agent is stopped", "[stop][race][lease][G1]") {
  FakeClient client;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  Audit audit(tree);
  Team team(3);
  std::atomic<std::size_t> renewals{0}, ends{0}, broken{0};
  // Follows the speed of the machine, so that some leases are renewed and some end.
  std::chrono::microseconds lease{50};
  for (int round = 0; round < rounds; ++round) {
    const std::size_t renewals_before = renewals, ends_before = ends;
    const Agent agent = tree.create({.limits = {.lease = lease}}).value();
    team.run(
        [&](int member) {
          for (int i = 0; i < 20; ++i) {
            if (member == 0) {
              static_cast<void>(agent.send("x"));
              continue;
            }
            const VerbResult renewed = agent.renew();
            renewals += renewed.took_effect();
            if (renewed.took_effect()) continue;
            ++ends;
            // Whoever has noticed it, or notices it now: the agent is closed from then on.
            broken += can_process(agent.state().value());
            broken += agent.renew().took_effect();
            return;
          }
        },
        [&] {
          client.cancel_stopped();
          client.answer_all();
          runtime.poll();
        });
    CHECK(agent.terminate().took_effect());
    REQUIRE(drive(runtime, tree, client) == "");
    if (renewals == renewals_before) lease *= 2;
    if (ends == ends_before) lease = std::max(lease / 2, std::chrono::microseconds(1));
  }
  INFO(renewals << " renewals, " << ends << " ends");
  CHECK(renewals > 0);
  CHECK(ends > 0);
  CHECK(broken == 0);
  CHECK(audit.problem == "");
  CHECK(tree.size() == 0);
}
