// When a tree writes to its store, on which thread, and what happens when that fails.
#include "support/catch.hpp"
#include "support/drive/test_clock.hpp"
#include "support/store/guarded_store.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace agentcore;
using agentcore::test::count_records;
using agentcore::test::GuardedStore;
using agentcore::test::Life;

namespace {

// Keeps its jobs until the test runs them.
class ManualExecutor final : public Executor {
 public:
  void submit(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void run_all() {
    for (const auto& job : std::exchange(jobs, {})) job();
  }
  std::vector<std::function<void()>> jobs;
};

const Error full{Errc::store_full, "the disk is full"};

// An agent "a" with one turn.
void fill_conversation(Store& store) {
  Life life(store);
  REQUIRE(life.create("a").send("one"));
  life.runtime.run_until_idle();
}

}  // namespace

TEST_CASE("the durability says which changes are written at once", "[persist][durability]") {
  const auto commits = [](Durability durability) {
    GuardedStore store;
    std::vector<std::size_t> counts;
    Life life(store, {.durability = durability});
    const Agent agent = life.create("a");
    life.runtime.poll();
    std::size_t before = store.commits;
    REQUIRE(agent.pause().took_effect());
    life.runtime.poll();
    REQUIRE(store.commits == before + 1);
    before = store.commits;
    REQUIRE(agent.send("one"));
    life.runtime.poll();
    counts.push_back(store.commits - before);  // a message
    REQUIRE(agent.unpause().took_effect());
    life.runtime.poll();
    before = store.commits;
    life.runtime.run_until_idle();
    counts.push_back(store.commits - before);  // the end of its turn
    return counts;
  };
  CHECK(commits(Durability::each_turn)[0] == 0);
  CHECK(commits(Durability::each_turn)[1] == 1);
  CHECK(commits(Durability::each_step)[0] == 0);
  CHECK(commits(Durability::each_message)[0] == 1);
  CHECK(to_string(Durability::each_step) == "each_step");
  CHECK(to_string(AfterStoreFailure::go_on) == "go_on");
}

TEST_CASE("the changes of one poll are one commit, with the sync that the host chose", "[persist]") {
  GuardedStore store;
  Life life(store, {.sync = StoreSync::disk});
  const std::size_t before = store.commits;
  for (int i = 0; i < 100; ++i) life.tree->create().value();
  life.runtime.poll();
  CHECK(store.commits == before + 1);
  CHECK(store.last_sync == StoreSync::disk);
  life.runtime.poll();
  CHECK(store.commits == before + 1);
}

TEST_CASE("a commit that fails is tried again with what has changed since", "[persist][failure]") {
  GuardedStore store;
  std::vector<Errc> failures;
  Life life(store, {.on_failure = [&](const Error& error) {
              failures.push_back(error.code);
              return AfterStoreFailure::retry;
            }});
  life.runtime.poll();
  store.failure = full;
  const Agent first = life.create("first");
  life.runtime.poll();
  CHECK(failures == std::vector<Errc>{Errc::store_full});
  REQUIRE(first.stop().took_effect());
  life.create("second");
  // A poll of a busy machine may use up its time before the stop has settled.
  for (int i = 0; i < 1000 && first.state().value() != AgentState::stopped; ++i) life.runtime.poll();
  CHECK(failures.size() == 1);  // it waits before it tries again
  CHECK(life.stops.empty());
  CHECK(first.state().value() == AgentState::stopped);
  store.failure = {};
  REQUIRE(life.tree->flush());
  REQUIRE(life.stops.size() == 1);
  // The wait is over: the next change is written at once.
  life.create("third");
  life.runtime.poll();
  Life next(store.records);
  CHECK(next.tree->find("third"));
  CHECK(next.find("first").state().value() == AgentState::stopped);
  CHECK(next.find("second").state().value() == AgentState::idle);
}

TEST_CASE("a failed commit is tried again by itself", "[persist][failure]") {
  GuardedStore store;
  testing::ManualClock clock;
  Runtime runtime({.clock = &clock});
  AgentTree tree(runtime);
  REQUIRE(tree.restore(&store));
  runtime.poll();
  store.failure = full;
  tree.create({.id = "a"}).value();
  runtime.poll();
  const std::size_t before = store.commits;
  store.failure = {};
  clock.advance(std::chrono::milliseconds(999));
  runtime.poll();
  CHECK(store.commits == before);
  clock.advance(std::chrono::milliseconds(1));
  runtime.poll();
  runtime.poll();
  CHECK(store.commits == before + 1);
  Life next(store.records);
  CHECK(next.tree->size() == 1);
}

TEST_CASE("the host can go on in memory when the store fails", "[persist][failure]") {
  GuardedStore store;
  Life life(store, {.on_failure = [](const Error&) { return AfterStoreFailure::go_on; }});
  life.runtime.poll();
  store.throws = true;
  const Agent agent = life.create("a");
  life.runtime.poll();
  const std::size_t commits = store.commits;
  REQUIRE(agent.send("x"));
  life.runtime.run_until_idle();
  CHECK(Life::texts(agent).size() == 2);
  CHECK(store.commits == commits);
  CHECK(life.tree->flush().error().code == Errc::store_failed);
  life.tree.reset();
  CHECK(store.commits == commits);
}

TEST_CASE("the host can stop all when the store fails", "[persist][failure]") {
  GuardedStore store;
  Life life(store, {.on_failure = [](const Error&) { return AfterStoreFailure::stop_all; }});
  const Agent agent = life.create("a");
  life.runtime.poll();
  store.failure = full;
  REQUIRE(agent.send("x"));
  for (int polls = 0; polls < 20 && agent.state().value() != AgentState::stopped; ++polls)
    life.runtime.poll();
  CHECK(agent.state().value() == AgentState::stopped);
  store.failure = {};
  REQUIRE(life.tree->flush());
  Life next(store.records);
  CHECK(next.find("a").state().value() == AgentState::stopped);
}

TEST_CASE("an observer of a failure may destroy the tree", "[persist][failure]") {
  GuardedStore store;
  Life* here = nullptr;
  Life life(store, {.on_failure = [&](const Error&) {
              here->tree.reset();
              return AfterStoreFailure::stop_all;
            }});
  here = &life;
  life.runtime.poll();
  life.create("a");
  store.failure = full;
  life.runtime.poll();
  CHECK_FALSE(life.tree);
}

TEST_CASE("an executor commits while the loop and its stops do not wait for it", "[persist][executor]") {
  GuardedStore store;
  ManualExecutor executor;
  Life life(store, {.executor = &executor});
  store.commits = 0;
  const Agent agent = life.create("a");
  life.runtime.poll();
  REQUIRE(executor.jobs.size() == 1);
  CHECK(store.commits == 0);
  REQUIRE(agent.stop().took_effect());
  life.runtime.poll();
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(executor.jobs.size() == 1);  // one commit at a time
  CHECK(life.stops.empty());
  CHECK(life.tree->busy() == false);
  std::thread worker([&] { executor.run_all(); });
  worker.join();
  CHECK(store.commits == 1);
  CHECK(store.committed_on != std::this_thread::get_id());
  life.runtime.poll();
  REQUIRE(executor.jobs.size() == 1);  // the stop
  CHECK(life.stops.empty());
  executor.run_all();
  life.runtime.poll();
  CHECK(life.stops.size() == 1);
  CHECK(executor.jobs.empty());
}

TEST_CASE("an agent whose conversation is still to be read does not make the loop wait for a commit",
          "[persist][executor]") {
  GuardedStore store;
  {
    Life life(store);
    REQUIRE(life.create("a").send("one"));
    REQUIRE(life.create("b").send("one"));
    life.runtime.run_until_idle();
  }
  ManualExecutor executor;
  Life life(store, {.executor = &executor});
  store.commits = 0;
  life.create("new");
  life.runtime.poll();
  REQUIRE(executor.jobs.size() == 1);
  for (const char* const id : {"a", "b"}) REQUIRE(life.find(id).send("two"));
  life.runtime.poll();
  life.runtime.poll();
  for (int i = 0; i < 20; ++i) life.runtime.poll();
  CHECK(store.commits == 0);  // neither done by the loop thread, nor waited for
  const auto due = life.runtime.next_deadline();
  CHECK((!due || *due > std::chrono::steady_clock::now()));  // the loop sleeps meanwhile
  CHECK(life.find("a").state().value() == AgentState::idle);
  CHECK(life.find("a").queue_length().value() == 1);
  REQUIRE(life.find("b").stop().took_effect());
  // A poll of a busy machine may use up its time before the stop has settled.
  for (int i = 0; i < 1000 && life.find("b").state().value() != AgentState::stopped; ++i) life.runtime.poll();
  CHECK(life.find("b").state().value() == AgentState::stopped);
  const bool fails = GENERATE(false, true);
  CAPTURE(fails);
  if (fails) store.failure = {Errc::store_failed, "the disk is gone"};
  executor.run_all();
  life.runtime.poll();
  CHECK(executor.jobs.empty());  // the agent reads before the next commit begins
  for (int i = 0; i < 4; ++i) life.runtime.poll();
  CHECK(Life::texts(life.find("a")) == std::vector<std::string>{"one", "one", "two", "two"});
  CHECK(life.llm.calls() == 1);
}

TEST_CASE("the end of a tree does not need its executor", "[persist][executor]") {
  GuardedStore store;
  ManualExecutor executor;
  {
    Life life(store, {.executor = &executor});
    store.commits = 0;
    life.create("a");
    life.runtime.poll();
    life.create("b");
    CHECK(store.commits == 0);
  }
  CHECK(store.commits == 2);
  executor.run_all();  // finds it done
  CHECK(store.commits == 2);
  Life next(store.records);
  CHECK(next.tree->size() == 2);
}

TEST_CASE("a commit that an executor destroys has failed", "[persist][executor][failure]") {
  GuardedStore store;
  ManualExecutor executor;
  std::vector<Error> failures;
  Life life(store, {.executor = &executor, .on_failure = [&](const Error& error) {
                      failures.push_back(error);
                      return AfterStoreFailure::retry;
                    }});
  life.create("a");
  life.runtime.poll();
  executor.jobs.clear();
  life.runtime.poll();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].code == Errc::store_failed);
  REQUIRE(life.tree->flush());
  Life next(store.records);
  CHECK(next.tree->size() == 1);
}

TEST_CASE("a ThreadPool commits while the loop works", "[persist][executor]") {
  GuardedStore store;
  auto pool = std::make_shared<ThreadPool>(2);
  {
    Life life(store, {.durability = Durability::each_message, .executor = pool});
    const Agent agent = life.create("a");
    for (int i = 0; i < 200; ++i) REQUIRE(agent.send("m" + std::to_string(i)));
    life.runtime.run_until_idle();
    CHECK(Life::texts(agent).size() == 400);
  }
  Life next(store.records);
  CHECK(Life::texts(next.find("a")).size() == 400);
}

TEST_CASE("a conversation that is damaged is an error, and its agent is stopped",
          "[persist][failure][lazy]") {
  GuardedStore store;
  fill_conversation(store);
  Life life(store);
  const Agent agent = life.find("a");
  store.read_failure = {Errc::store_corrupt, "a page is damaged"};
  CHECK(agent.conversation().error().code == Errc::store_corrupt);
  CHECK(agent.turns().error().code == Errc::store_corrupt);
  CHECK(agent.fork().error().code == Errc::store_corrupt);
  CHECK(agent.rewind(1).error().code == Errc::store_corrupt);
  REQUIRE(agent.send("two"));
  life.runtime.poll();
  life.runtime.poll();
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(life.llm.calls() == 0);
  store.read_failure = {};
  REQUIRE(agent.resume().took_effect());
  life.runtime.poll();
  REQUIRE(agent.send("three"));
  life.runtime.run_until_idle();
  CHECK(Life::texts(agent) == std::vector<std::string>{"one", "one", "three", "three"});
}

TEST_CASE("a damaged conversation of an agent that cannot be stopped is read again later",
          "[persist][failure][lazy]") {
  GuardedStore store;
  {
    Life life(store);
    REQUIRE(life.create("a", {.role = AgentRole::user}).send("one"));
    life.runtime.run_until_idle();
  }
  std::size_t failures = 0;
  Life life(store, {}, {}, {.log = [&](const LogRecord& record) {
              failures += record.message.find("is damaged") != std::string_view::npos ? 1 : 0;
            }});
  store.read_failure = {Errc::store_corrupt, "a page is damaged"};
  REQUIRE(life.find("a").send("two"));
  for (int i = 0; i < 20; ++i) life.runtime.poll(Duration(0));
  CHECK(failures == 1);
  CHECK(life.find("a").state().value() == AgentState::idle);
  CHECK(life.find("a").queued().value().size() == 1);
}

TEST_CASE("a conversation that cannot be read for some time keeps its messages, and is read again",
          "[persist][failure][lazy]") {
  GuardedStore store;
  fill_conversation(store);
  testing::ManualClock clock;
  std::size_t failures = 0;
  Life life(store, {}, {},
            {.clock = &clock, .log = [&](const LogRecord& record) {
               failures += record.message.find("is read again later") != std::string_view::npos ? 1 : 0;
             }});
  const Agent agent = life.find("a");
  const Agent other = life.create("other");
  const auto poll = [&] {
    for (int i = 0; i < 6; ++i) life.runtime.poll();
  };
  store.read_failure = {Errc::store_failed, "the disk does not answer"};
  REQUIRE(agent.send("two"));
  poll();
  CHECK(failures == 1);
  CHECK(agent.state().value() == AgentState::idle);
  REQUIRE(agent.send("three"));
  REQUIRE(other.send("hello"));
  poll();
  CHECK(failures == 1);
  CHECK(agent.queued().value().size() == 2);
  CHECK(Life::texts(other) == std::vector<std::string>{"hello", "hello"});
  clock.advance(std::chrono::seconds(1));
  poll();
  CHECK(failures == 2);
  store.read_failure = {};
  clock.advance(std::chrono::seconds(1));
  poll();
  CHECK(agent.queued().value().size() == 2);  // the second wait is two seconds
  clock.advance(std::chrono::seconds(1));
  poll();
  CHECK(failures == 2);
  CHECK(Life::texts(agent) == std::vector<std::string>{"one", "one", "two", "two", "three", "three"});
  CHECK(life.dropped.empty());
}

TEST_CASE("an agent whose conversation is read again later can be stopped and deleted",
          "[persist][failure][lazy]") {
  GuardedStore store;
  fill_conversation(store);
  testing::ManualClock clock;
  Life life(store, {}, {}, {.clock = &clock});
  const Agent agent = life.find("a");
  store.read_failure = {Errc::store_failed, "the disk does not answer"};
  REQUIRE(agent.send("two"));
  life.runtime.poll();
  const bool deletes = GENERATE(false, true);
  REQUIRE((deletes ? agent.terminate() : agent.stop()).took_effect());
  for (int i = 0; i < 4; ++i) life.runtime.poll();
  CHECK(life.dropped.size() == 1);
  CHECK(life.tree->size() == (deletes ? 0 : 1));
  store.read_failure = {};
  clock.advance(std::chrono::minutes(2));
  for (int i = 0; i < 4; ++i) life.runtime.poll();
  CHECK(life.llm.calls() == 0);
  if (!deletes) CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("a delete that cannot be stored is logged, and the memory is cleaned up",
          "[persist][failure][D15]") {
  GuardedStore store;
  std::vector<std::string> log;
  Runtime runtime({.log = [&](const LogRecord& record) { log.emplace_back(record.message); }});
  AgentTree tree(runtime);
  REQUIRE(tree.restore(&store));
  const Agent agent = tree.create({.id = "a"}).value();
  runtime.poll();
  store.failure = full;
  log.clear();
  REQUIRE(agent.terminate().took_effect());
  for (int i = 0; i < 5; ++i) runtime.poll();
  CHECK(tree.size() == 0);
  CHECK(std::count(log.begin(), log.end(), "changes of a tree could not be written to its store") == 1);
  store.failure = {};
  REQUIRE(tree.flush());
  CHECK(count_records(store.records) == 1);
}

TEST_CASE("flush() writes verbs that were just called", "[persist][flush]") {
  GuardedStore store;
  Life life(store);
  const Agent stopped = life.create("stopped"), deleted = life.create("deleted"),
              paused = life.create("paused");
  life.runtime.poll();
  REQUIRE(stopped.stop().took_effect());
  REQUIRE(deleted.terminate().took_effect());
  REQUIRE(paused.pause().took_effect());
  REQUIRE(life.tree->flush());
  Life next(store.records);
  CHECK(next.find("stopped").state().value() == AgentState::stopped);
  CHECK_FALSE(next.tree->find("deleted"));
  CHECK(next.find("paused").status().value().paused);
}

TEST_CASE("the end of a tree writes verbs that were just called", "[persist][flush]") {
  GuardedStore store;
  {
    Life life(store);
    const Agent agent = life.create("a");
    life.runtime.poll();
    REQUIRE(agent.stop().took_effect());
  }
  Life next(store.records);
  CHECK(next.find("a").state().value() == AgentState::stopped);
}

TEST_CASE("an observer may destroy the tree during flush()", "[persist][flush]") {
  GuardedStore store;
  {
    Life life(store);
    const Agent agent = life.create("a");
    life.runtime.poll();
    const auto end = life.tree->on<StopPersisted>([&](const StopPersisted&) { life.tree.reset(); });
    REQUIRE(agent.create_child({.id = "child"}).value().stop().took_effect());
    CHECK(life.tree->flush());
    CHECK_FALSE(life.tree);
  }
  Life next(store.records);
  CHECK(next.find("a").state().value() == AgentState::idle);  // not as by stop_all()
}

TEST_CASE("an executor may keep a job that it has run", "[persist][executor]") {
  GuardedStore store;
  ManualExecutor executor;
  Life life(store, {.executor = &executor});
  store.commits = 0;
  life.create("a");
  life.runtime.poll();
  REQUIRE(executor.jobs.size() == 1);
  const std::function<void()> kept = executor.jobs.front();
  executor.jobs.clear();
  kept();
  life.runtime.poll();
  CHECK(store.commits == 1);
  life.create("b");
  life.runtime.poll();
  CHECK(executor.jobs.size() == 1);
  kept();  // has no effect any more
  CHECK(store.commits == 1);
  executor.run_all();
  CHECK(store.commits == 2);
}

TEST_CASE("a callback of a failure may call flush()", "[persist][failure][flush]") {
  GuardedStore store;
  Life* here = nullptr;
  bool flushed = false;
  Life life(store, {.on_failure = [&](const Error& error) {
              store.failure = {};
              flushed = here->tree->flush().has_value();
              CHECK(error.message == full.message);
              return AfterStoreFailure::retry;
            }});
  here = &life;
  life.runtime.poll();
  store.failure = full;
  life.create("a");
  life.runtime.poll();
  CHECK(flushed);
  const std::size_t before = store.commits;
  life.create("b");
  life.runtime.poll();
  CHECK(store.commits == before + 1);  // nothing is waited for
}
