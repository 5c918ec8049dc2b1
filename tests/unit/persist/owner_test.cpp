// One tree at a time owns what a store has; a later restore takes it over.
#include "support/catch.hpp"
#include "support/store/guarded_store.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using agentcore::test::count_records;
using agentcore::test::Life;

namespace {

// Another program's view of the same records.
class View final : public Store {
 public:
  explicit View(Store& of) noexcept : of_(of) {}
  Result<void> commit(const StoreBatch& batch, StoreSync sync) override {
    epochs.push_back(batch.epoch());
    if (before_commit) std::exchange(before_commit, {})();
    return of_.commit(batch, sync);
  }
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override {
    return of_.read(first, last, visit);
  }

  std::vector<std::uint64_t> epochs;
  std::function<void()> before_commit;

 private:
  Store& of_;
};

}  // namespace

TEST_CASE("a Store that a tree uses is refused to a second tree", "[persist][owner][G14]") {
  MemoryStore store;
  std::optional<Life> first(std::in_place, store);
  const Agent agent = first->create("a");
  REQUIRE(first->tree->flush());
  {
    Life second(store);
    REQUIRE_FALSE(second.report);
    CHECK(second.report.error().code == Errc::store_in_use);
    CHECK(second.tree->size() == 0);
  }
  // The refused one has taken nothing: the first goes on.
  REQUIRE(agent.stop().took_effect());
  first->runtime.run_until_idle();
  REQUIRE(first->tree->flush());
  CHECK(first->stops.size() == 1);
  SECTION("until the first tree is gone") {
    first->tree.reset();
  }
  SECTION("until the Runtime of the first tree is gone") {
    first.reset();
  }
  Life second(store);
  REQUIRE(second.report);
  CHECK(second.find("a").state().value() == AgentState::stopped);
}

TEST_CASE("the end of a Runtime frees the Store of a tree that is still there", "[persist][owner]") {
  MemoryStore store;
  auto runtime = std::make_unique<Runtime>();
  AgentTree tree(*runtime);
  REQUIRE(tree.restore(&store));
  REQUIRE(tree.create({.id = "a"}));
  CHECK(Life(store).report.error().code == Errc::store_in_use);
  runtime.reset();
  Life second(store);
  REQUIRE(second.report);
  CHECK(second.tree->find("a"));
}

TEST_CASE("a restore that fails leaves the Store to the next", "[persist][owner]") {
  MemoryStore store;
  Life first(store);
  first.create("a");
  REQUIRE(first.tree->flush());
  first.tree.reset();
  Life too_small(store, {}, {.max_depth = 1, .max_agents = 1});
  const bool failed = !too_small.report;
  too_small.tree.reset();
  CAPTURE(failed);
  Life second(store);
  CHECK(second.report);
}

TEST_CASE("a copy of a store in memory is a store of its own", "[persist][owner]") {
  MemoryStore store;
  const Life first(store);
  MemoryStore copy = store;
  CHECK(Life(copy).report);
  MemoryStore other;
  other = store;
  CHECK(Life(other).report);
}

TEST_CASE("a later restore takes the agents over, and the earlier owner commits nothing more",
          "[persist][owner][G14]") {
  MemoryStore records;
  View of_first(records), of_second(records);
  std::vector<Errc> failures;
  testing::ManualClock clock;
  Life first(of_first,
             {.on_failure =
                  [&](const Error& error) {
                    failures.push_back(error.code);
                    return AfterStoreFailure::retry;
                  }},
             {}, {.clock = &clock});
  const Agent agent = first.create("a");
  REQUIRE(first.tree->flush());
  Life second(of_second);
  REQUIRE(second.find("a").stop().took_effect());
  REQUIRE(second.tree->flush());
  const std::size_t kept = count_records(records);
  first.create("b");
  first.runtime.run_until_idle();
  CHECK(failures == std::vector<Errc>{Errc::store_fenced});
  // It is not tried again, and the agents of the earlier owner are not stopped by it.
  clock.advance(std::chrono::hours(1));
  first.runtime.run_until_idle();
  CHECK(failures.size() == 1);
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(first.tree->flush().error().code == Errc::store_fenced);
  CHECK(count_records(records) == kept);
  // A tool that must not run twice waits for the store: it does not run here.
  first.tree.reset();
  CHECK(count_records(records) == kept);
  CHECK(second.tree->flush());
  second.tree.reset();
  Life third(of_second);
  CHECK(third.tree->size() == 1);
  CHECK(third.find("a").state().value() == AgentState::stopped);
}

TEST_CASE("a tree that has lost its store does not begin a tool that must not run twice",
          "[persist][owner][G14]") {
  MemoryStore records;
  View of_first(records), of_second(records);
  int ran = 0;
  auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_tool({.name = "pay"}, [&](const nlohmann::json&, const ToolContext&) {
    ++ran;
    return ToolResult::done("paid");
  }));
  RestoreOptions options;
  options.code.add_tools("tools", tools);
  Life first(of_first, options);
  testing::ScriptedReply call;
  call.tool_calls = {{.id = "c1", .name = "pay", .arguments = "{}"}};
  first.llm.enqueue(call);
  const Agent agent = first.create("a", {.code = {.tools = "tools"}});
  REQUIRE(first.tree->flush());
  const Life second(of_second);
  REQUIRE(agent.send("pay"));
  first.runtime.run_until_idle();
  CHECK(ran == 0);
}

TEST_CASE("a restore reads what the last owner has committed, up to the last batch",
          "[persist][owner][G14]") {
  MemoryStore records;
  View of_first(records), of_second(records);
  Life first(of_first);
  const Agent agent = first.create("a");
  REQUIRE(first.tree->flush());
  // The other owner commits at the last moment.
  of_second.before_commit = [&] {
    REQUIRE(agent.stop().took_effect());
    first.runtime.run_until_idle();
    REQUIRE(first.tree->flush());
  };
  Life second(of_second);
  REQUIRE(second.report);
  CHECK(second.find("a").state().value() == AgentState::stopped);
}

TEST_CASE("of two trees that are restored at the same time one gets the store", "[persist][owner]") {
  MemoryStore records;
  View of_first(records), of_second(records);
  std::optional<Life> first;
  of_second.before_commit = [&] { first.emplace(of_first); };
  Life second(of_second);
  REQUIRE_FALSE(second.report);
  CHECK(second.report.error().code == Errc::store_fenced);
  REQUIRE(first->report);
  first->create("a");
  CHECK(first->tree->flush());
}

TEST_CASE("each owner of a store has the next epoch", "[persist][owner]") {
  MemoryStore records;
  View view(records);
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    view.epochs.clear();
    Life life(view);
    REQUIRE(life.report);
    if (epoch == 2) life.create("a");  // a life without an agent is one, too
    REQUIRE(life.tree->flush());
    life.tree.reset();
    CHECK(view.epochs.size() >= 2);
    for (const std::uint64_t one : view.epochs) CHECK(one == epoch);
  }
}

TEST_CASE("records that were put back from a backup do not lock the next owner out",
          "[persist][owner][G14]") {
  MemoryStore records;
  std::vector<std::pair<RecordKey, std::string>> backup;
  for (int life = 0; life < 20; ++life) {
    Life run(records);
    REQUIRE(run.report);
    if (life != 0) continue;
    run.create("a");
    REQUIRE(run.tree->flush());
    REQUIRE(records.read({}, {RecordKey::max, RecordKey::max, RecordKey::max},
                         [&](const RecordKey& key, std::string_view body) {
                           backup.emplace_back(key, body);
                           return true;
                         }));
  }
  StoreBatch batch;
  for (const auto& [key, body] : backup) batch.put(key, body);
  REQUIRE(records.commit(batch, StoreSync::process));
  Life next(records);
  REQUIRE(next.report);
  CHECK(next.find("a").stop().took_effect());
  CHECK(next.tree->flush());
}
