// Verbs of other threads while a thread of the host writes to the store: after a restart the agents are what
// they were.
#include "support/catch.hpp"
#include "support/drive/team.hpp"
#include "support/sanitized.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using agentcore::test::Dice;
using agentcore::test::Team;

namespace {

#ifdef RACES_WATCHED
constexpr int rounds = 30;  // ThreadSanitizer makes them about ten times slower
#else
constexpr int rounds = 100;
#endif

void act_at_random(Dice& dice, const Agent& agent) {
  switch (dice.below(10)) {
    case 0:
      static_cast<void>(agent.stop());
      break;
    case 1:
      static_cast<void>(agent.stop({.when = StopWhen::after_turn}));
      break;
    case 2:
    case 3:
      static_cast<void>(agent.resume());
      break;
    case 4:
      static_cast<void>(agent.interrupt({.queue = QueueAction::hold}));
      break;
    case 5:
      static_cast<void>(agent.release_queue());
      break;
    case 6:
      static_cast<void>(agent.pause());
      break;
    case 7:
      static_cast<void>(agent.unpause());
      break;
    default:
      static_cast<void>(agent.send("go"));
  }
}

// What a restart may not change.
struct Kept {
  AgentState state;
  bool paused;
  bool queue_held;
  std::vector<MessageId> queued;
  std::vector<std::string> conversation;

  bool operator==(const Kept&) const = default;
};

std::map<std::string, Kept> all_of(const AgentTree& tree) {
  std::map<std::string, Kept> all;
  tree.walk([&](const Agent& agent) {
    const AgentStatus status = agent.status().value();
    Kept& kept = all[agent.id()] = {status.state, status.paused, status.queue_held, {}, {}};
    for (const QueuedMessage& message : agent.queued().value()) kept.queued.push_back(message.id);
    for (const ChatMessage& message : agent.conversation().value())
      kept.conversation.push_back(message.content());
  });
  return all;
}

// A process whose agents are in `store`.
struct Process {
  explicit Process(Store& store, InterruptedTurns turns) {
    RestoreOptions options{.durability = Durability::each_message, .turns = turns, .executor = &pool};
    options.code.add_handler("handler", [](const Agent&, const Message&) {});
    REQUIRE(tree.restore(&store, std::move(options)));
  }
  ThreadPool pool{1};
  Runtime runtime;
  testing::ScriptedClient llm{runtime};
  AgentTree tree{runtime, {.llm = &llm, .mailbox_limit = 20}};
};

}  // namespace

TEST_CASE("verbs of other threads race with commits, and a restart finds what was there",
          "[stop][race][persist][G14]") {
  Team team(2);
  for (int round = 0; round < rounds; ++round) {
    MemoryStore store;
    std::map<std::string, Kept> before;
    {
      Process process(store, InterruptedTurns::go_on);
      std::array<Agent, 4> agents;
      agents[0] = process.tree.create({.id = "a"}).value();
      agents[1] = agents[0].create_child({.id = "b"}).value();
      AgentSpec with_handler{.id = "c"};
      with_handler.code.handler = "handler";
      agents[2] = agents[1].create_child(with_handler).value();
      agents[3] = process.tree.create({.id = "d"}).value();
      team.run(
          [&](int member) {
            Dice dice(static_cast<std::uint64_t>(round) * 2 + static_cast<std::uint64_t>(member));
            for (int i = 0; i < 25; ++i) act_at_random(dice, agents[dice.below(agents.size())]);
          },
          [&] { process.runtime.poll(); });
      // A deferred stop that waits for a pause is a stop after a restart, and so it is here.
      static_cast<void>(process.tree.unpause_all());
      for (const Agent& agent : agents) static_cast<void>(agent.unpause());
      for (int i = 0; i < 100'000 && process.tree.busy(); ++i) process.runtime.poll();
      REQUIRE_FALSE(process.tree.busy());
      REQUIRE(process.tree.flush());
      before = all_of(process.tree);
    }
    const Process next(store, InterruptedTurns::go_on);
    CAPTURE(round);
    CHECK((all_of(next.tree) == before));
  }
}
