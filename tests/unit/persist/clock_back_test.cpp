// The clock of the machine is set back, or far forward, between two runs: what a store keeps of times.
#include "support/catch.hpp"
#include "support/store/life.hpp"
#include "support/store/store_folder.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/receipt_file.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using agentcore::test::Life;
using agentcore::test::StoreFolder;

namespace {

// Moved by the test. now() has another origin in each run.
class TwoClocks final : public Clock {
 public:
  TimePoint now() const noexcept override { return TimePoint(boot + passed); }
  WallTime wall_time() const noexcept override {
    return WallTime(std::chrono::hours(24 * 365 * 56) +
                    std::chrono::duration_cast<WallTime::duration>(set + passed));
  }
  bool runs_by_itself() const noexcept override { return false; }
  void advance(Duration step) noexcept override { passed += step; }

  void reboot(Duration set_by) {
    boot -= std::chrono::minutes(90);
    set += set_by;
  }
  Duration boot = std::chrono::hours(1000), set{0}, passed{0};
};

RestoreOptions each_message() {
  return {.durability = Durability::each_message, .turns = InterruptedTurns::go_on};
}
RuntimeOptions of(TwoClocks& clock) {
  RuntimeOptions options;
  options.clock = &clock;
  return options;
}
void poll(Life& life) {
  for (int i = 0; i < 12; ++i) life.runtime.poll();
}
testing::ScriptedReply silence() {
  testing::ScriptedReply reply;
  reply.silent = true;
  return reply;
}

// How far the clock is set back.
Duration set_back() {
  return GENERATE(Duration(std::chrono::hours(1)), Duration(std::chrono::hours(24 * 365 * 10)),
                  Duration(std::chrono::hours(24 * 365 * 60)));
}

}  // namespace

TEST_CASE("the deadline of a message that waits over a restart drops it", "[persist][clock][mail]") {
  TwoClocks clock;
  MemoryStore store;
  MessageId message;
  const Duration back =
      GENERATE(Duration(0), Duration(std::chrono::hours(1)), Duration(std::chrono::hours(24 * 365 * 10)));
  {
    Life life(store, each_message(), {}, of(clock));
    const Agent agent = life.create("a");
    REQUIRE(agent.pause().took_effect());
    message = agent.send("soon", {.deadline = life.runtime.now() + std::chrono::hours(3)}).id;
    REQUIRE(agent.send("whenever"));
    poll(life);
  }
  clock.reboot(-back);
  for (int restart = 0; restart < 2; ++restart) {
    Life life(store, each_message(), {}, of(clock));
    CHECK(life.report->messages == 2);
    const Agent agent = life.find("a");
    REQUIRE(agent.queued().value().size() == 2);
    // Not later than without the restart, by the clock that is set back, too.
    CHECK(agent.queued().value()[0].deadline == life.runtime.now() + std::chrono::hours(3));
    poll(life);
    CHECK(life.dropped.empty());
  }
  Life life(store, each_message(), {}, of(clock));
  poll(life);
  clock.advance(std::chrono::hours(3) - std::chrono::seconds(1));
  poll(life);
  CHECK(life.dropped.empty());
  clock.advance(std::chrono::seconds(1));
  poll(life);
  REQUIRE(life.dropped.size() == 1);  // although its agent is paused
  CHECK(life.dropped[0].id == message);
  CHECK(life.dropped[0].reason == DropReason::deadline_exceeded);
  CHECK(life.find("a").queued().value().size() == 1);
}

TEST_CASE("a deadline at the end of time is kept", "[persist][clock][mail]") {
  TwoClocks clock;
  MemoryStore store;
  const bool far = GENERATE(true, false);
  {
    Life life(store, each_message(), {}, of(clock));
    const Agent agent = life.create("a");
    REQUIRE(agent.pause().took_effect());
    const TimePoint end = TimePoint(Duration::max() - std::chrono::hours(1));
    REQUIRE(agent.send("x", {.deadline = far ? end : life.runtime.now() + std::chrono::hours(24)}));
    poll(life);
  }
  clock.reboot(far ? Duration(std::chrono::hours(24 * 365 * 100))
                   : -Duration(std::chrono::hours(24 * 365 * 60)));
  Life life(store, each_message(), {}, of(clock));
  poll(life);
  REQUIRE(life.find("a").queued().value().size() == 1);
  CHECK(life.find("a").queued().value()[0].deadline > life.runtime.now());
  CHECK(life.dropped.empty());
}

TEST_CASE("the deadline of a turn counts although the clock was set back", "[persist][clock][turns]") {
  TwoClocks clock;
  MemoryStore store;
  {
    Life life(store, each_message(), {}, of(clock));
    life.llm.enqueue(silence());
    const Agent agent = life.create("a", {.limits = {.turn_timeout = std::chrono::hours(3)}});
    REQUIRE(agent.send("x"));
    poll(life);
    REQUIRE(agent.state().value() == AgentState::waiting_llm);
  }
  clock.reboot(-set_back());
  Life life(store, each_message(), {}, of(clock));
  life.llm.enqueue(silence());
  CHECK(life.report->continued_turns == 1);
  poll(life);
  clock.advance(std::chrono::hours(3) - std::chrono::seconds(1));
  poll(life);
  CHECK(life.find("a").state().value() == AgentState::waiting_llm);
  clock.advance(std::chrono::seconds(1));
  poll(life);
  CHECK(life.find("a").state().value() == AgentState::idle);
  CHECK(life.find("a").conversation().value().at(0).interruption == Interruption::failed);
}

TEST_CASE("leases and budgets of time go on although the clock was set back", "[persist][clock][budget]") {
  TwoClocks clock;
  MemoryStore store;
  {
    Life life(store, each_message(), {}, of(clock));
    life.create("leased", {.limits = {.lease = std::chrono::hours(2)}});
    life.create("limited", {.limits = {.budget = {.wall_clock = std::chrono::hours(5)}}});
    poll(life);
    clock.advance(std::chrono::hours(1));
    poll(life);
    REQUIRE(life.find("limited").send("x"));  // the record is written
    poll(life);
  }
  clock.reboot(-set_back());
  Life life(store, each_message(), {}, of(clock));
  poll(life);
  clock.advance(std::chrono::hours(2) - std::chrono::seconds(1));  // in full
  poll(life);
  CHECK(life.find("leased").state().value() == AgentState::idle);
  clock.advance(std::chrono::seconds(1));
  poll(life);
  CHECK(life.find("leased").state().value() == AgentState::stopped);
  CHECK(life.find("limited").state().value() == AgentState::idle);
  clock.advance(std::chrono::hours(2) - std::chrono::seconds(1));
  poll(life);
  CHECK(life.find("limited").state().value() == AgentState::idle);
  clock.advance(std::chrono::seconds(1));
  poll(life);
  CHECK(life.find("limited").state().value() == AgentState::stopped);
}

TEST_CASE("receipts of stops are complete although the clock was set back", "[persist][clock][receipts]") {
  const StoreFolder folder;
  TwoClocks clock;
  MemoryStore store;
  const Duration back = set_back();
  for (int run = 0; run < 3; ++run) {
    auto receipts = ReceiptFile::open(folder.file("receipts"), {}).value();
    Life life(store, each_message(), {.audit = receipts.get()}, of(clock));
    if (run == 0) life.create("a");
    CHECK(life.find("a").state().value() == AgentState::idle);
    REQUIRE(life.find("a").stop({.reason = "run " + std::to_string(run)}).took_effect());
    poll(life);
    REQUIRE(life.stops.size() == 1);
    REQUIRE(life.find("a").resume().took_effect());
    poll(life);
    clock.reboot(-back);
  }
  const auto summary = verify_receipts(folder.file("receipts"), {});
  REQUIRE(summary);
  CHECK(summary->intact());
  CHECK(summary->records == 3);
}
