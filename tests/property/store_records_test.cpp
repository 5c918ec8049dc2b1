// [G13] Each record of a store belongs to an agent, after any sequence of verbs.
#include "property/restart_moves.hpp"
#include "support/prop.hpp"
#include "support/store/store_faults.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Keeps its jobs until the test runs them: so verbs meet a commit that runs.
struct SlowExecutor final : Executor {
  void submit(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void run_all() {
    for (auto& job : std::exchange(jobs, {})) job();
  }
  std::vector<std::function<void()>> jobs;
};

// What makes, shares and erases records, on any agent that there is. Returns its name.
std::string act_on_any(RestartWorld& world, int what, std::size_t which) {
  std::vector<Agent> agents;
  world.tree().walk([&](const Agent& agent) { agents.push_back(agent); });
  if (agents.empty() || what % 8 == 0) {
    AgentSpec spec = spec_of(0);
    spec.history = {ChatMessage::user("an old question"), ChatMessage::assistant("an old answer")};
    static_cast<void>(world.tree().create(std::move(spec)));
    return "(with history)";
  }
  const Agent& agent = agents[which % agents.size()];
  const Scope scope = which % 2 ? Scope::subtree : Scope::with_forks;
  switch (what % 8) {
    case 1:
    case 2:
      static_cast<void>(agent.fork());
      return "(fork)";
    case 3:
      static_cast<void>(agent.fork({.at = 1}));
      return "(fork at 1)";
    case 4:
    case 5:
      static_cast<void>(agent.terminate({.scope = scope}));
      return "(delete)";
    case 6:
      static_cast<void>(agent.terminate({.when = StopWhen::after_turn, .scope = scope}));
      return "(delete later)";
    default:
      static_cast<void>(world.note(agent.send(world.text("say"))));
      return "(send)";
  }
}

void check_records(RestartWorld& world, const std::string& names) {
  RC_ASSERT(bool(world.tree().flush()));
  if (const auto faults = faults_of(world.store()); !faults.empty()) RC_FAIL(names + ": " + faults.front());
}

}  // namespace

TEST_CASE("no sequence of verbs leaves a record without an agent", "[property][persist][delete][G13]") {
  prop("each record has an owner, and none is missing", [] {
    const auto moves = *any_moves();
    const auto rounds = *rc::gen::container<std::vector<int>>(moves.size(), rc::gen::inRange(0, 12));
    const auto durability =
        *rc::gen::element(Durability::each_turn, Durability::each_step, Durability::each_message);
    const bool in_background = *rc::gen::arbitrary<bool>();
    const auto executor = std::make_shared<SlowExecutor>();
    RestoreOptions options{.durability = durability, .turns = InterruptedTurns::go_on};
    if (in_background) options.executor = executor;
    RestartWorld world(false, ProcessEnd::killed, options);
    std::string names;
    for (std::size_t i = 0; i < moves.size(); ++i) {
      names += (names.empty() ? "" : ", ") + written(moves[i]);
      if (moves[i].other % 2 == 0)
        names += act_on_any(world, moves[i].other / 2, moves[i].what);
      else
        static_cast<void>(act(world, moves[i]));
      // Mostly, several verbs come in one poll.
      if (rounds[i] < 6) world.poll(10 * rounds[i]);
      if (rounds[i] % 3 == 0) executor->run_all();
      if (rounds[i] == 4) check_records(world, names);
      if (rounds[i] != 5) continue;
      names += ", restart";
      world.restart();
      check_records(world, names);
    }
    check_records(world, names);
    std::vector<Agent> agents;
    world.tree().walk([&](const Agent& agent) { agents.push_back(agent); });
    for (const Agent& agent : agents) static_cast<void>(agent.terminate({.scope = Scope::with_forks}));
    world.settle();
    executor->run_all();
    world.settle();
    check_records(world, names + ", and all are deleted");
    // Those of people and of the host cannot be deleted.
    if (world.tree().size() == 0) RC_ASSERT(records_of(world.store()).size() <= 1);
  });
}
