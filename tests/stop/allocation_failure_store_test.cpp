// Every allocation of a tree with a store fails in turn, while turns with tool calls run. No process ends, no
// agent hangs, the tree can be stopped, and the store can be restored.
//
// Arguments of tools have no members here: see allocation_failure_test.cpp.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/test_clock.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

#ifdef SANITIZED
constexpr std::size_t sampled = 23;  // each run is slow
#else
const std::size_t sampled = amount<std::size_t>(1, 13);
#endif
constexpr std::size_t no_failure = 1'000'000;
constexpr std::size_t most_calls = 64;

// One run of a program. It has an agent of an earlier run, and a new one.
struct Run {
  explicit Run(MemoryStore& store, int& acts) {
    RuntimeOptions options;
    options.clock = &clock;
    options.seed = 1;
    runtime.emplace(std::move(options));
    TreeOptions tree_options;
    tree_options.llm = &llm;
    tree.emplace(*runtime, tree_options);
    llm.reserve(most_calls);
    const auto act = [&acts](const nlohmann::json&, const ToolContext&) {
      ++acts;
      return ToolResult::done("a result that needs a heap of its own");
    };
    tools = std::make_shared<ToolRegistry>();
    tools->add(make_tool({.name = "act"}, act));
    tools->add(make_tool({.name = "risky", .needs_approval = true}, act));
    wanted.finish_reason = FinishReason::tool_calls;
    for (const char* const name : {"act", "risky", "act"})
      wanted.tool_calls.push_back(
          {.id = "call number " + std::to_string(wanted.tool_calls.size()) + ", a long id",
           .name = name,
           .arguments = "{}"});
    // A call that no other one of its turn wakes.
    wanted_one.finish_reason = FinishReason::tool_calls;
    wanted_one.tool_calls = {{.id = "the only call, a long id", .name = "act", .arguments = "{}"}};
    RestoreOptions restore{.durability = Durability::each_step};
    restore.code.add_tools("tools", tools);
    REQUIRE(tree->restore(&store, std::move(restore)));
  }
  Agent create(std::string id) {
    AgentSpec spec{.id = std::move(id), .system_prompt = "a system prompt that needs a heap of its own"};
    spec.code.tools = "tools";
    spec.limits.parallel_tools = 3;
    spec.limits.budget = {.tokens = 1'000'000, .cost = 10, .wall_clock = std::chrono::hours(1)};
    spec.context = {.max_tokens = 100'000};
    return tree->create(std::move(spec)).value();
  }

  // A part of the host's code, which ignores what fails.
  template <typename Part>
  void step(Part&& part) {
    try {
      part();
    } catch (const std::bad_alloc&) {
    } catch (const BadResultAccess&) {
    }
  }
  void drive() {
    for (int i = 0; i < 12; ++i) step([&] { runtime->poll(); });
  }
  void end_calls(const ChatOutcome& outcome) {
    for (std::size_t number = 0; number < llm.calls(); ++number)
      if (FakeClient::Call& call = llm.call(number); call.open())
        step([&] {
          FakeClient::finish(
              call, call.stop.stop_requested() ? ChatOutcome{.kind = ChatOutcome::Kind::cancelled} : outcome);
        });
    drive();
  }
  void approve() {
    step([&] {
      for (const OpenQuestion& question : tree->questions())
        static_cast<void>(tree->approve(question.id, GrantScope::subtree));
    });
    drive();
  }

  void work(const Agent& agent, const Agent& other) {
    step([&] { static_cast<void>(agent.send("a question that needs a heap of its own")); });
    step([&] { static_cast<void>(other.send("a question of the other, which needs a heap, too")); });
    drive();
    end_calls(wanted);
    step([&] { static_cast<void>(agent.send("one that waits, with a heap of its own")); });
    approve();
    end_calls(wanted_one);
    end_calls(ChatOutcome::completed({}));
    end_calls(ChatOutcome::completed({}));
  }

  // While no allocation fails.
  void settle() {
    for (int i = 0; i < 10; ++i) {
      approve();
      end_calls(ChatOutcome::completed({}));
      clock.advance(std::chrono::minutes(1));  // a store that has failed is tried again
      drive();
    }
  }
  void end() {
    settle();
    tree->walk([&](const Agent& agent) {
      INFO(agent.id());
      const AgentState state = agent.state().value();
      const bool rests = state == AgentState::idle || state == AgentState::stopped;
      CHECK(rests);
      CHECK(is_valid_history(agent.conversation().value()));
    });
    CHECK_FALSE(tree->busy());
    CHECK(tree->flush());
    CHECK(tree->stop_all().accepted());
    settle();
    tree->walk([](const Agent& agent) { CHECK(agent.state().value() == AgentState::stopped); });
    CHECK(tree->flush());
  }

  TestClock clock;
  std::optional<Runtime> runtime;
  FakeClient llm;
  std::shared_ptr<ToolRegistry> tools;
  ChatOutcome wanted, wanted_one;
  std::optional<AgentTree> tree;
};

// False: the work has fewer allocations.
bool fails_at(std::size_t n, std::size_t row) {
  MemoryStore store;
  int acts = 0;
  {
    Run before(store, acts);
    const Agent old = before.create("the old one, whose id needs a heap");
    before.work(old, old);
    before.settle();
    CHECK(before.tree->flush());
  }
  bool failed = false;
  INFO("allocation " << n << ", " << row << " in a row");
  {
    Run run(store, acts);
    const Agent old = run.tree->find("the old one, whose id needs a heap").value();
    const Agent made = run.create("the new one, whose id needs a heap");
    run.drive();
    acts = 0;
    {
      const FailingAllocation failing(n, row);
      run.work(made, old);
      failed = failing.failed();
    }
    if (n == no_failure) CHECK(acts == 8);
    run.end();
    CHECK(acts <= 8);  // no call twice
  }
  const Run after(store, acts);
  CHECK(after.tree->size() == 2);
  after.tree->walk([](const Agent& agent) {
    CHECK(agent.state().value() == AgentState::stopped);
    CHECK(is_valid_history(agent.conversation().value()));
  });
  return failed;
}

void fail_each(std::size_t step, std::size_t row) {
  REQUIRE_FALSE(fails_at(no_failure, 1));
  std::size_t count = 0;
  for (std::size_t n = 1; fails_at(n, row); n += step) ++count;
  CHECK(count * step > 300);
}

}  // namespace

// A call asks twice whether it may begin: two in a row, so that both answers have no memory.
TEST_CASE("after any two failed allocations a tree with a store goes on, and can be stopped",
          "[stop][store][persist][G4][G13][G14]") {
  fail_each(sampled, 2);
}

TEST_CASE("after any series of failed allocations a tree with a store goes on, and can be stopped",
          "[stop][store][persist][G4][G13][G14]") {
  fail_each(5 * sampled, 1);
  fail_each(29 * sampled, 60);
}

TEST_CASE("every allocation of a tree with a store fails once",
          "[.all_allocations][stop][store][persist][G4][G13][G14]") {
  for (const std::size_t row : {1U, 2U, 7U, 60U}) fail_each(1, row);
}
