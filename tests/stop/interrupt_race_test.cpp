// Interrupts from another thread: exactly the message, or the agent, that was meant is affected.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/team.hpp"
#include "support/observe/counted_heap.hpp"

#include <agentcore/agentcore.hpp>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using agentcore::test::at_next_allocation;
using agentcore::test::Dice;
using agentcore::test::drive;
using agentcore::test::FakeClient;
using agentcore::test::Team;

namespace {

// What became of one message.
struct Fate {
  MessageId id;
  int ends = 0;
  MessageEnd end;
  bool meant = false;  // the other thread has interrupted it
  VerbResult result;
};

// Sends a message whose end is recorded in `fate`.
void send_to(const Agent& agent, Fate& fate) {
  const auto on_end = [&fate](const MessageEnd& end) {
    ++fate.ends;
    fate.end = end;
  };
  fate.id = agent.send("x", {.on_end = on_end}).id;
}

std::string problem_of(const Fate& fate) {
  if (fate.ends != 1) return "a message with " + std::to_string(fate.ends) + " ends";
  const bool completed = fate.end.result && fate.end.result->success();
  const bool interrupted = fate.end.result && fate.end.result->outcome == TurnOutcome::interrupted;
  const bool dropped = fate.end.dropped == DropReason::interrupted;
  if (!completed && !interrupted && !dropped) return "another end";
  if (!fate.meant && !completed) return "a message that was not meant was ended";
  if (fate.meant && fate.result.took_effect() == completed)
    return completed ? "an interrupt took effect, and the turn completed"
                     : "an interrupt had no effect, and the turn was ended";
  if (fate.meant && !fate.result.took_effect() && fate.result.reason != Errc::turn_over)
    return "another reason";
  return {};
}

// Makes its thread slow within an allocation: until the test goes on, but for a bounded number of yields,
// because the thread may hold a mutex for which the test waits.
struct SlowAllocation {
  int number = 1;  // of the allocation, from 1
  std::atomic<bool> reached{false};
  std::atomic<bool> released{false};

  static void allocate(void* self) {
    SlowAllocation& slow = *static_cast<SlowAllocation*>(self);
    if (--slow.number > 0) return at_next_allocation(&SlowAllocation::allocate, self);
    slow.reached = true;
    for (int i = 0; i < 20'000 && !slow.released; ++i) std::this_thread::yield();
  }
};

// Some instructions for each loop.
void spin(int loops) {
  for (int i = 0; i < loops; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace

TEST_CASE("an interrupt by id ends exactly the message that was meant", "[stop][race][interrupt]") {
  const bool with_handler = GENERATE(true, false);
  FakeClient client;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  AgentSpec spec;
  if (with_handler) spec.handler = [](const Agent&, const Message&) {};
  Agent agent;
  Team team(1);
  int took_effect = 0, too_late = 0;
  for (int round = 0; round < 3000; ++round) {
    if (round % 50 == 0) agent = tree.create(spec).value();  // so that no conversation is long
    constexpr std::size_t count = 6;
    std::array<Fate, count> fates;
    for (Fate& fate : fates) send_to(agent, fate);
    team.run(
        [&](int) {
          Dice dice(static_cast<std::uint64_t>(round));
          for (int i = 0; i < 2; ++i) {
            Fate& fate = fates[dice.below(count)];
            if (fate.meant) continue;
            fate.meant = true;
            fate.result = agent.interrupt({.message = fate.id});
          }
        },
        [&] {
          client.answer_all();
          runtime.poll();
        });
    for (int i = 0; i < 40 && tree.busy(); ++i) {
      client.answer_all();
      runtime.poll();
    }
    client.forget_ended();
    for (const Fate& fate : fates) {
      REQUIRE(problem_of(fate) == "");
      if (fate.meant) ++(fate.result.took_effect() ? took_effect : too_late);
    }
  }
  INFO(took_effect << " took effect, " << too_late << " came too late");
  CHECK(took_effect > 0);
}

TEST_CASE("an interrupt while a handler returns takes effect, or its turn completes",
          "[stop][race][interrupt]") {
  const int rounds = agentcore::test::amount(20'000, 500);
  Runtime runtime;
  AgentTree tree(runtime);
  Fate* meant = nullptr;
  std::atomic<int> returning{0};  // the round whose handler is about to return
  std::atomic<int> called{0};     // the last round whose interrupt has returned
  int round = 0;
  // The two delays have no common factor, so that the interrupt comes before, between and after all steps,
  // also in a part of the rounds. In some rounds the handler waits for the interrupt, which takes effect then
  // also where the two threads never run at once.
  const auto handle = [&](const Agent&, const Message&) {
    returning.store(round);
    spin(round * 811 % 16381);
    while (round % 64 == 0 && called.load() != round) std::this_thread::yield();
  };
  const Agent agent = tree.create({.handler = handle}).value();
  std::jthread other([&] {
    for (int mine = 1; mine <= rounds; ++mine) {
      for (int spins = 0; returning.load() != mine; ++spins)
        if (spins > 1000) std::this_thread::yield();
      spin(mine % 256);
      meant->meant = true;
      meant->result = agent.interrupt({.message = meant->id});
      called.store(mine);
    }
  });
  std::string problem;
  int took_effect = 0;
  for (round = 1; round <= rounds; ++round) {
    Fate fate;
    meant = &fate;
    send_to(agent, fate);
    while (called.load() != round || tree.busy()) runtime.poll();
    if (problem.empty()) problem = problem_of(fate);
    took_effect += fate.result.took_effect() ? 1 : 0;
  }
  CHECK(problem == "");
  CHECK(took_effect > 0);
}

TEST_CASE("an interrupt of a subtree whose thread is slow does not touch the next agent of the slot",
          "[stop][interrupt][X34]") {
  for (int number = 1; number < 12; ++number) {
    INFO("allocation " << number);
    FakeClient client;
    Runtime runtime;
    AgentTree tree(runtime, {.llm = &client});
    const Agent before = tree.create().value();
    SlowAllocation slow{number};
    std::atomic<bool> returned{false};
    std::jthread thread([&] {
      at_next_allocation(&SlowAllocation::allocate, &slow);
      static_cast<void>(before.interrupt({.scope = Scope::subtree,
                                          .queue = QueueAction::hold,
                                          .reason = "a reason that needs memory of its own"}));
      at_next_allocation(nullptr, nullptr);
      returned = true;
    });
    while (!slow.reached && !returned) std::this_thread::yield();
    CHECK(before.terminate().took_effect());
    while (runtime.poll()) {
    }
    const Agent next = tree.create().value();
    const Agent child = next.create_child().value();
    CHECK(next.send("question"));
    while (runtime.poll()) {
    }
    slow.released = true;
    thread.join();
    CHECK(next.state().value() == AgentState::waiting_llm);
    CHECK_FALSE(next.status().value().queue_held);
    CHECK_FALSE(child.status().value().queue_held);
    client.answer_all();
    CHECK(drive(runtime, tree) == "");
    CHECK(next.conversation().value().back().interruption == Interruption::none);
  }
}

TEST_CASE("holds and interrupts of a subtree do not land in a later life of its slot",
          "[stop][race][interrupt]") {
  Runtime runtime;
  AgentTree tree(runtime);
  Team team(2);
  AgentSpec spec;
  spec.handler = [](const Agent&, const Message&) {};
  Agent agent = tree.create(spec).value();
  for (int round = 0; round < 3000; ++round) {
    const Agent before = agent;
    bool deleted = false;
    team.run(
        [&](int member) {
          for (int i = 0; i < 10; ++i) {
            if (member == 0)
              static_cast<void>(before.interrupt(
                  {.scope = Scope::subtree, .queue = QueueAction::hold, .reason = "for a test"}));
            else
              static_cast<void>(before.release_queue());
          }
        },
        [&] {
          if (!deleted) {
            deleted = before.terminate().took_effect();
            while (before.exists()) runtime.poll();
            agent = tree.create(spec).value();
          }
          runtime.poll();
        });
    REQUIRE_FALSE(agent.status().value().queue_held);
    static_cast<void>(agent.interrupt({.queue = QueueAction::hold}));
    const Agent child = agent.create_child(spec).value();
    REQUIRE_FALSE(child.status().value().queue_held);
    REQUIRE(agent.release_queue().took_effect());
    int completed = 0;
    REQUIRE(agent.send(
        "x", {.on_end = [&](const MessageEnd& end) { completed += end.result && end.result->success(); }}));
    REQUIRE(drive(runtime, tree) == "");
    REQUIRE(completed == 1);
  }
}

TEST_CASE("a hold of a subtree and its release from two threads leave all of it or nothing",
          "[stop][race][interrupt]") {
  Runtime runtime;
  AgentTree tree(runtime);
  Team team(2);
  const Agent agent = tree.create().value();
  const Agent child = agent.create_child().value();
  std::atomic<int> without_effect{0};
  const auto hold = [&] {
    const VerbResult held = agent.interrupt({.scope = Scope::subtree, .queue = QueueAction::hold});
    without_effect += !held.took_effect();
  };
  for (int round = 0; round < 3000; ++round) {
    hold();
    team.run(
        [&](int member) {
          if (member == 0)
            hold();
          else
            without_effect += !agent.release_queue().took_effect();
        },
        [&] { runtime.poll(); });
    REQUIRE(agent.status().value().queue_held == child.status().value().queue_held);
    static_cast<void>(agent.release_queue());
    static_cast<void>(agent.interrupt({.queue = QueueAction::hold}));
    REQUIRE_FALSE(child.status().value().queue_held);
    static_cast<void>(agent.release_queue());
    runtime.poll();
  }
  CHECK(without_effect == 0);
}
