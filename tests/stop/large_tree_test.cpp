// A million agents in every shape: closed at once, settled in bounded polls, without an allocation for each.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/drive/team.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using agentcore::test::Dice;

namespace {

#ifdef SANITIZED
constexpr std::size_t many = 100'000;
#else
const std::size_t many = agentcore::test::amount<std::size_t>(1'000'000, 100'000);
#endif
// A poll takes at most 65,536 control steps; each settles at most one agent and those above that waited for
// it.
constexpr std::size_t most_settled_in_a_poll = 65'536 + 250;

const SharedAgentSpec plain = std::make_shared<const AgentSpec>();

Agent star(AgentTree& tree) {
  const Agent root = tree.create().value();
  for (std::size_t i = 1; i < many; ++i) static_cast<void>(root.create_child(plain));
  return root;
}

// Chains as deep as the limit allows, side by side.
Agent chains(AgentTree& tree) {
  const Agent root = tree.create().value();
  Agent end = root;
  for (std::size_t i = 1; i < many; ++i) {
    auto next = end.create_child(plain);
    if (!next) next = root.create_child(plain);
    end = *next;
  }
  return root;
}

Agent random_tree(AgentTree& tree) {
  Dice dice(4711);
  std::vector<Agent> all{tree.create().value()};
  all.reserve(many);
  while (all.size() < many)
    if (const auto child = all[dice.below(all.size())].create_child(plain)) all.push_back(*child);
  return all.front();
}

// Polls until `tree` is at rest. Returns the most that `counter` rose in one poll.
std::size_t most_in_a_poll(Runtime& runtime, const AgentTree& tree, const std::size_t& counter) {
  std::size_t most = 0;
  while (tree.busy()) {
    const std::size_t before = counter;
    runtime.poll();
    most = std::max(most, counter - before);
  }
  return most;
}

struct Shape {
  const char* name;
  std::function<Agent(AgentTree&)> make;
};

}  // namespace

TEST_CASE("a million agents are stopped and resumed and deleted in every tree shape",
          "[stop][large][G4][G13][G16][E1][E2][T6]") {
  for (const Shape& shape : {Shape{"star", star}, Shape{"chains", chains}, Shape{"random", random_tree}}) {
    INFO(shape.name);
    testing::ManualClock clock;
    Runtime runtime({.clock = &clock, .seed = 1});
    AgentTree tree(runtime);
    const Agent root = shape.make(tree);
    REQUIRE(tree.size() == many);

    std::size_t settled = 0, deleted = 0, changes = 0;
    const auto events = tree.on_event([&](const Event& event) {
      settled += event.get<Settled>() != nullptr;
      deleted += event.get<AgentDeleted>() != nullptr;
    });
    std::size_t before = agentcore::test::allocations();
    const VerbResult stop = root.stop();
    CHECK((stop.took_effect() && stop.quiet));
    CHECK(most_in_a_poll(runtime, tree, settled) <= most_settled_in_a_poll);
    CHECK(settled == many);
    CHECK(agentcore::test::allocations() - before < 100);

    CHECK(root.resume().took_effect());
    before = agentcore::test::allocations();
    CHECK(most_in_a_poll(runtime, tree, settled) == 0);
    CHECK(agentcore::test::allocations() - before < 100);

    // With an observer of states: told from the top, too.
    auto states = tree.on<StateChanged>([&](const StateChanged&) { ++changes; });
    settled = 0;
    before = agentcore::test::allocations();
    static_cast<void>(root.stop());
    CHECK(most_in_a_poll(runtime, tree, changes) <= 2 * most_settled_in_a_poll);
    CHECK(settled == many);
    CHECK(changes == 2 * many);
    states.reset();

    settled = 0;
    CHECK(root.terminate().took_effect());
    CHECK(most_in_a_poll(runtime, tree, settled) <= most_settled_in_a_poll);
    CHECK(agentcore::test::allocations() - before < 200);
    CHECK((settled == many && deleted == many));
    CHECK(tree.size() == 0);
  }
}

TEST_CASE("a hundred thousand single stops are settled in bounded polls", "[stop][large][G16]") {
  testing::ManualClock clock;
  Runtime runtime({.clock = &clock, .seed = 1});
  AgentTree tree(runtime);
  std::vector<Agent> roots;
  for (std::size_t i = 0; i < 100'000; ++i) roots.push_back(tree.create(plain).value());
  std::size_t settled = 0;
  const auto events = tree.on_event([&](const Event& event) { settled += event.get<Settled>() != nullptr; });
  for (const Agent& root : roots) static_cast<void>(root.stop());
  CHECK(most_in_a_poll(runtime, tree, settled) <= most_settled_in_a_poll);
  CHECK(settled == roots.size());
  for (const Agent& root : roots) static_cast<void>(root.terminate());
  CHECK(most_in_a_poll(runtime, tree, settled) <= most_settled_in_a_poll);
  CHECK(tree.size() == 0);
}
