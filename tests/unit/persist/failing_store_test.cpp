// A store that fails, works again and fails again: when it is tried, and who is told what.
#include "core/stored_changes.hpp"
#include "support/catch.hpp"
#include "support/store/guarded_store.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace std::chrono_literals;
using agentcore::test::GuardedStore;
using agentcore::test::Life;

namespace {

const Error full{Errc::store_full, "the disk is full"};
const Error broken{Errc::store_failed, "the disk does not answer"};

// Keeps its jobs until the test runs them.
class HeldExecutor final : public Executor {
 public:
  void submit(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void run_all() {
    for (const auto& job : std::exchange(jobs, {})) job();
  }
  std::vector<std::function<void()>> jobs;
};

void poll(Life& life) {
  for (int i = 0; i < 20; ++i) life.runtime.poll();
}

// A tree whose clock the test moves, with the agents "a" and "b".
struct Failing {
  explicit Failing(RestoreOptions options = {}) : life(store, std::move(options), {}, {.clock = &clock}) {
    for (const char* const id : {"a", "b"}) life.create(id);
    REQUIRE(life.tree->flush());
  }
  void advance(Duration time) {
    clock.advance(time);
    poll(life);
  }
  // The attempts of the next time, of which each begins after that wait and not before.
  void check_attempts(const std::vector<Duration>& waits) {
    for (const Duration wait : waits) {
      CAPTURE(wait.count());
      const std::size_t before = store.commits;
      advance(wait - 1ms);
      CHECK(store.commits == before);
      advance(1ms);
      CHECK(store.commits == before + 1);
    }
  }
  // What a client that waits for the store is told.
  std::vector<Errc> ask() {
    answers.emplace_back();
    REQUIRE(detail::core::when_stored(*life.tree, [this, at = answers.size() - 1](const Result<void>& done) {
      answers.at(at).push_back(done ? Errc::none : done.error().code);
    }));
    return answers.back();
  }

  GuardedStore store;
  testing::ManualClock clock;
  std::vector<std::vector<Errc>> answers;  // one list for each question
  Life life;
};

using Answers = std::vector<std::vector<Errc>>;

}  // namespace

TEST_CASE("the waits between attempts grow, up to a minute, and begin anew after a success",
          "[persist][failure]") {
  Failing here;
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    here.store.failure = broken;
    REQUIRE(here.life.find("a").pause().took_effect());
    poll(here.life);
    here.check_attempts({1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s});
    here.store.failure = {};
    here.check_attempts({60s});
    const std::size_t before = here.store.commits;
    here.advance(10min);
    CHECK(here.store.commits == before);
    REQUIRE(here.life.find("a").unpause().took_effect());
    poll(here.life);
  }
}

TEST_CASE("the waits between reads grow, and begin anew after a success", "[persist][failure][lazy]") {
  GuardedStore store;
  {
    Life life(store);
    for (const char* const id : {"a", "b"}) REQUIRE(life.create(id).send("one"));
    life.runtime.run_until_idle();
  }
  testing::ManualClock clock;
  std::size_t failures = 0;
  Life life(store, {}, {},
            {.clock = &clock, .log = [&](const LogRecord& record) {
               failures += record.message.find("is read again later") != std::string_view::npos ? 1 : 0;
             }});
  for (const char* const id : {"a", "b"}) {
    CAPTURE(id);
    store.read_failure = broken;
    REQUIRE(life.find(id).send("two"));
    poll(life);
    for (const Duration wait : {1s, 2s, 4s}) {
      CAPTURE(wait.count());
      const std::size_t before = failures;
      clock.advance(wait - 1ms);
      poll(life);
      CHECK(failures == before);
      clock.advance(1ms);
      poll(life);
      CHECK(failures == before + 1);
    }
    store.read_failure = {};
    clock.advance(8s);
    poll(life);
    CHECK(Life::texts(life.find(id)).size() == 4);
  }
}

TEST_CASE("a stop that is resumed while its commit fails is not reported as stored", "[persist][failure]") {
  Failing here;
  here.store.failure = broken;
  REQUIRE(here.life.find("a").stop().took_effect());
  REQUIRE(here.life.find("b").stop().took_effect());
  poll(here.life);
  REQUIRE(here.life.find("a").resume().took_effect());
  poll(here.life);
  CHECK(here.life.stops.empty());
  here.store.failure = {};
  here.advance(1s);
  REQUIRE(here.life.stops.size() == 1);
  CHECK(here.life.stops[0].agent_id == "b");
  Life next(here.store.records);
  CHECK(next.find("a").state().value() == AgentState::idle);
  CHECK(next.find("b").state().value() == AgentState::stopped);
}

TEST_CASE("the last commit of a tree is tried twice, and its loss is logged", "[persist][failure][flush]") {
  struct Unsteady final : Store {
    Result<void> commit(const StoreBatch& batch, StoreSync sync) override {
      if (failures == 0) return records.commit(batch, sync);
      --failures;
      return broken;
    }
    Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override {
      return records.read(first, last, visit);
    }
    MemoryStore records;
    int failures = 0;
  };
  const int failures = GENERATE(0, 1, 2);
  CAPTURE(failures);
  Unsteady store;
  std::size_t lost = 0;
  {
    Life life(store, {}, {}, {.log = [&](const LogRecord& record) {
                lost += record.message == "the last changes of a tree are not in its store" ? 1 : 0;
              }});
    const Agent agent = life.create("a");
    REQUIRE(life.tree->flush());
    REQUIRE(agent.stop().took_effect());
    store.failures = failures;
  }
  CHECK(lost == (failures == 2 ? 1 : 0));
  Life next(store.records);
  CHECK((next.find("a").state().value() == AgentState::stopped) == (failures < 2));
}

TEST_CASE("a full store is tried at once for a stop, one that fails otherwise is not",
          "[persist][failure][full]") {
  Failing here;
  here.store.failure = full;
  REQUIRE(here.life.find("a").send("waits for room"));
  poll(here.life);
  std::size_t before = here.store.commits;
  here.store.failure = broken;
  REQUIRE(here.life.find("a").stop().took_effect());
  poll(here.life);
  CHECK(here.store.commits > before);
  before = here.store.commits;
  REQUIRE(here.life.find("b").stop().took_effect());
  poll(here.life);
  CHECK(here.store.commits == before);
  here.store.failure = {};
  here.advance(1min);
  CHECK(here.life.stops.size() == 2);
}

TEST_CASE("who waits for the store is told of the commit that has the changes",
          "[persist][failure][executor]") {
  HeldExecutor executor;
  Failing here({.executor = &executor});
  const auto commit = [&] {
    executor.run_all();
    here.life.runtime.poll();
  };
  REQUIRE(here.life.find("a").stop().took_effect());
  here.ask();
  poll(here.life);
  REQUIRE(executor.jobs.size() == 1);
  // Called while that commit runs: not in it.
  REQUIRE(here.life.find("b").stop().took_effect());
  here.ask();
  poll(here.life);
  CHECK(here.answers == Answers{{}, {}});
  commit();
  CHECK(here.answers == Answers{{Errc::none}, {}});
  poll(here.life);
  REQUIRE(executor.jobs.size() == 1);
  here.store.failure = broken;
  commit();
  CHECK(here.answers == Answers{{Errc::none}, {Errc::store_failed}});
  // The store is waited for: the answer is that of the last attempt, at once.
  here.ask();
  here.life.runtime.poll();
  CHECK(here.answers.back() == std::vector<Errc>{Errc::store_failed});
  here.store.failure = {};
  here.advance(1s);
  commit();
  here.ask();
  poll(here.life);
  if (!executor.jobs.empty()) commit();
  CHECK(here.answers.back() == std::vector<Errc>{Errc::none});
  for (const auto& answer : here.answers) CHECK(answer.size() == 1);
}

TEST_CASE("who waits for the store is told when the tree goes on without it", "[persist][failure]") {
  HeldExecutor executor;
  Failing here({.executor = &executor, .on_failure = [](const Error&) { return AfterStoreFailure::go_on; }});
  REQUIRE(here.life.find("a").stop().took_effect());
  here.ask();
  poll(here.life);
  REQUIRE(here.life.find("b").stop().took_effect());
  here.ask();
  poll(here.life);
  here.store.failure = broken;
  executor.run_all();
  poll(here.life);
  CHECK(here.answers == Answers{{Errc::store_failed}, {Errc::store_failed}});
  here.ask();
  poll(here.life);
  CHECK(here.answers.back() == std::vector<Errc>{Errc::store_failed});
  CHECK(here.life.stops.empty());
}
