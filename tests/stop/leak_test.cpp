// Nothing grows with the number of agents that ever lived.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/drive/drive.hpp"
#include "support/observe/event_audit.hpp"
#include "support/sanitized.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/terminate_scope.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/references.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

#include <malloc.h>

using namespace agentcore;

namespace {

#ifdef SANITIZED
constexpr bool heap_tells = false;
constexpr int cycles = 6'000;
#else
constexpr bool heap_tells = true;
const int cycles = test::amount(100'000, 10'000);
#endif
constexpr int settled_in = 1'000;  // cycles after which nothing may grow any more

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

std::size_t heap_in_use() {
  return mallinfo2().uordblks + mallinfo2().hblkhd;
}

// The slot in a generated id, "@slot.generation".
int slot_of(const Agent& agent) {
  return std::stoi(agent.id().substr(1));
}

}  // namespace

TEST_CASE("a hundred thousand created and deleted agents leave nothing behind",
          "[stop][leak][G13][D3][D4][D7]") {
  testing::ManualClock clock;
  Runtime runtime({.clock = &clock, .seed = 1});
  testing::ScriptedClient client(runtime, [](const ChatRequest&) {
    return testing::ScriptedReply{.deltas = {"one ", "two ", "three "}};
  });
  AgentTree tree(runtime, {.llm = &client});
  static_cast<void>(runtime.poll_descriptor());
  std::size_t heap = 0;
  std::ptrdiff_t descriptors = 0;
  int highest_slot = 0, highest_later = 0;
  bool none_left = true;
  std::string problem;
  for (int cycle = 0; cycle < cycles && problem.empty(); ++cycle) {
    if (cycle == settled_in) {
      heap = heap_in_use();
      descriptors = open_descriptors();
    }
    AgentSpec spec;
    spec.id = "life " + std::to_string(cycle);
    {
      TerminateScope outer(tree);
      const Agent agent = outer.create(spec).value();
      TerminateScope inner(agent, cycle % 2 ? StopVerb::stop : StopVerb::terminate);
      const Agent child = inner.create().value();
      (cycle < settled_in ? highest_slot : highest_later) =
          std::max(cycle < settled_in ? highest_slot : highest_later, slot_of(child));
      static_cast<void>(agent.send("hello"));
      static_cast<void>(child.send("hello"));
      static_cast<void>(child.send("again"));
      for (int i = 0; i < cycle % 6; ++i) runtime.poll();
      if (cycle % 3 == 0) static_cast<void>(agent.abort());
      if (cycle % 4 != 0) static_cast<void>(agent.stop());
      if (cycle % 5 == 0) runtime.poll();
      inner.close();
    }
    problem = agentcore::test::drive(runtime, tree);
    if (cycle % 1000 == 0)
      none_left = none_left && testing::count_references(tree, spec.id) == 0 && tree.size() == 0;
  }
  CHECK(problem == "");
  CHECK(none_left);
  CHECK(tree.size() == 0);
  CHECK(client.open_calls() == 0);
  CHECK(open_descriptors() == descriptors);
  CHECK(highest_later <= highest_slot);
  if (heap_tells) CHECK(heap_in_use() <= heap + 16 * 1024);
}

TEST_CASE("nested and moved scopes leave nothing behind", "[stop][leak][G13]") {
  Runtime runtime;
  AgentTree tree(runtime);
  std::size_t heap = 0;
  for (int cycle = 0; cycle < cycles / 10; ++cycle) {
    if (cycle == settled_in / 2) heap = heap_in_use();
    TerminateScope first(tree);
    const Agent a = first.create().value();
    TerminateScope second(a);
    const Agent b = second.create().value();
    TerminateScope third(b, StopVerb::stop);
    static_cast<void>(third.create());
    TerminateScope moved(std::move(second));
    if (cycle % 3 == 0) static_cast<void>(third.release());
    if (cycle % 3 == 1) moved = TerminateScope(tree);
    first.close();
    REQUIRE(agentcore::test::drive(runtime, tree) == "");
    REQUIRE(tree.size() == 0);
  }
  if (heap_tells) CHECK(heap_in_use() <= heap + 16 * 1024);
}
