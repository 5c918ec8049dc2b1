// Interrupts of single messages from another thread: exactly the message that was meant is ended.
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/team.hpp"

#include <agentcore/agentcore.hpp>

#include <array>
#include <atomic>
#include <string>
#include <vector>

using namespace agentcore;
using agentcore::test::Dice;
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

}  // namespace

TEST_CASE("an interrupt by id ends exactly the message that was meant", "[stop][race][interrupt]") {
  const bool with_handler = GENERATE(true, false);
  FakeClient client;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  AgentSpec spec;
  if (with_handler) spec.handler = [](const Agent&, const Message&) {};
  const Agent agent = tree.create(spec).value();
  Team team(1);
  int took_effect = 0, too_late = 0;
  for (int round = 0; round < 3000; ++round) {
    constexpr std::size_t count = 6;
    std::array<Fate, count> fates;
    for (Fate& fate : fates)
      fate.id = agent
                    .send("x", {.on_end =
                                    [&fate](const MessageEnd& end) {
                                      ++fate.ends;
                                      fate.end = end;
                                    }})
                    .id;
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
