// [G13] No record of a conversation stays in a store without an agent.
#include "persist/unowned_records.hpp"

#include "support/catch.hpp"
#include "support/store/life.hpp"
#include "support/store/store_faults.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Keeps its jobs until the test runs them.
struct HeldExecutor final : Executor {
  void submit(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void run_all() {
    for (auto& job : std::exchange(jobs, {})) job();
  }
  std::vector<std::function<void()>> jobs;
};

AgentSpec with_history() {
  AgentSpec spec;
  spec.history = {ChatMessage::user("an old question"), ChatMessage::assistant("an old answer")};
  spec.context = {.max_tokens = 1'500, .target_tokens = 300, .min_conversation_tokens = 1};
  return spec;
}

void poll(Life& life) {
  for (int i = 0; i < 20; ++i) life.runtime.poll();
}

// Nothing but the record of the tree is left.
void check_empty(Life& life, Store& store) {
  CHECK(life.tree->size() == 0);
  CHECK(life.tree->flush());
  CHECK(faults_of(store).empty());
  CHECK(count_records(store) == 1);
}

}  // namespace

TEST_CASE("a fork that is deleted before it was written leaves nothing in the store",
          "[persist][fork][delete][G13]") {
  MemoryStore store;
  Life life(store);
  const Agent origin = life.create("origin");
  REQUIRE(origin.send("one"));
  life.runtime.run_until_idle();
  const Agent copy = origin.fork({.id = "copy"}).value();
  REQUIRE(copy.terminate().took_effect());
  poll(life);
  CHECK(faults_of(store).empty());
  REQUIRE(origin.terminate().took_effect());
  poll(life);
  check_empty(life, store);
}

TEST_CASE("a fork that is made and deleted while a commit runs leaves nothing in the store",
          "[persist][fork][delete][executor][G13]") {
  MemoryStore store;
  const auto executor = std::make_shared<HeldExecutor>();
  Life life(store, {.executor = executor});
  const Agent origin = life.create("origin");
  REQUIRE(origin.send("one"));
  poll(life);  // a commit runs
  REQUIRE(executor->jobs.size() == 1);
  const Agent copy = origin.fork({.id = "copy"}).value();
  REQUIRE(copy.send("two"));
  poll(life);
  const Agent again = copy.fork({.id = "again"}).value();
  REQUIRE(copy.terminate().took_effect());
  REQUIRE(origin.terminate().took_effect());
  poll(life);
  REQUIRE(again.terminate().took_effect());
  poll(life);
  executor->run_all();
  poll(life);
  check_empty(life, store);
}

TEST_CASE("a new agent with messages and its fork, both deleted in one poll, leave nothing in the store",
          "[persist][fork][delete][G13]") {
  MemoryStore store;
  Life life(store);
  life.create("keeps the tree");
  poll(life);
  AgentSpec spec = with_history();
  spec.id = "origin";
  const Agent origin = life.tree->create(std::move(spec)).value();
  const Agent copy = origin.fork({.id = "copy"}).value();
  REQUIRE(origin.terminate().took_effect());
  REQUIRE(copy.terminate().took_effect());
  poll(life);
  CHECK(life.tree->flush());
  CHECK(faults_of(store).empty());
  REQUIRE(life.find("keeps the tree").terminate().took_effect());
  poll(life);
  check_empty(life, store);
}

TEST_CASE("a deferred delete with the forks, in the poll of the fork, leaves nothing in the store",
          "[persist][fork][delete][G13]") {
  const StopWhen when = GENERATE(StopWhen::now, StopWhen::after_step, StopWhen::after_turn);
  MemoryStore store;
  Life life(store);
  const Agent origin = life.create("origin");
  REQUIRE(origin.send("one"));
  life.runtime.run_until_idle();
  REQUIRE(origin.send("two"));
  life.runtime.poll();
  const Agent copy = origin.fork({.id = "copy"}).value();
  REQUIRE(copy.fork({.id = "again"}));
  REQUIRE(origin.terminate({.when = when, .scope = Scope::with_forks}).took_effect());
  life.runtime.run_until_idle();
  check_empty(life, store);
}

TEST_CASE("what no agent has of the segments is found, and nothing of what an agent has",
          "[persist][restore][G13]") {
  using namespace detail::persist;
  constexpr std::uint64_t segments = 6, numbers = 5;
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    MemoryStore store;
    StoreBatch batch;
    std::set<std::pair<std::uint64_t, std::uint64_t>> there, owned;
    std::set<std::uint64_t> segments_of_agents;
    for (std::uint64_t segment = 0; segment < segments; ++segment)
      for (std::uint64_t number = 0; number < numbers; ++number)
        if (random() % 3 != 0) {
          batch.put(key_of(Kind::history, segment, number), "x");
          there.emplace(segment, number);
        }
    batch.put(key_of(Kind::history, RecordKey::max, RecordKey::max), "x");
    there.emplace(RecordKey::max, RecordKey::max);
    REQUIRE(store.commit(batch, StoreSync::process));
    OwnedRecords agents;
    for (std::size_t agent = 0; agent < random() % 6; ++agent) {
      const std::uint64_t first = random() % numbers;
      const Piece piece{random() % segments, first, 1 + random() % (numbers - first)};
      agents.add({piece});
      segments_of_agents.insert(piece.segment);
      for (std::uint64_t number = piece.first; number < piece.end(); ++number)
        owned.emplace(piece.segment, number);
    }
    const auto erase = [&](const std::vector<UnownedRecords>& found) {
      auto left = there;
      for (const UnownedRecords& range : found)
        std::erase_if(left, [&](const auto& at) {
          const bool goes = at.first == range.segment && at.second >= range.first && at.second <= range.last;
          if (goes) CHECK_FALSE(owned.contains(at));
          return goes;
        });
      return left;
    };
    for (const auto& at : erase(agents.unowned_records(ranges_of(store)).value())) CHECK(owned.contains(at));
    for (const auto& at : erase(agents.unowned_segments(ranges_of(store)).value()))
      CHECK(segments_of_agents.contains(at.first));
  }
}

TEST_CASE("a restart erases messages that no agent has", "[persist][restore][G13]") {
  MemoryStore store;
  {
    Life life(store);
    const Agent agent = life.create("a");
    REQUIRE(agent.send("one"));
    life.runtime.run_until_idle();
    REQUIRE(agent.fork({.id = "b"}).value().send("two"));
    life.runtime.run_until_idle();
  }
  const StoredRecords before = records_of(store);
  const bool of_earlier_version = GENERATE(false, true);
  StoreBatch left;
  using detail::persist::Kind;
  for (const std::uint64_t segment : {0U, 3U, 5U, 6U, 900U})
    left.put(detail::persist::key_of(Kind::history, segment, 3), R"({"role":"user","content":"left"})");
  left.put(detail::persist::key_of(Kind::context, 77), "{}");
  if (of_earlier_version) {
    // Behind the messages that agents have in this segment.
    left.put(detail::persist::key_of(Kind::history, 1, 40), R"({"role":"user","content":"left"})");
    std::string tree = before.at(detail::persist::key_of(Kind::tree));
    const std::string swept = ",\"swept\":true";
    REQUIRE(tree.find(swept) != std::string::npos);
    tree.erase(tree.find(swept), swept.size());
    left.put(detail::persist::key_of(Kind::tree), tree);
  }
  REQUIRE(store.commit(left, StoreSync::process));
  REQUIRE(faults_of(store).size() == (of_earlier_version ? 7 : 6));
  Life life(store);
  REQUIRE(life.report);
  CHECK(faults_of(store).empty());
  CHECK(Life::texts(life.find("a")) == std::vector<std::string>{"one", "one"});
  CHECK(Life::texts(life.find("b")) == std::vector<std::string>{"one", "one", "two", "two"});
  CHECK(count_records(store) == before.size());
}
