// A store that is full takes stops, deletes and what makes it smaller, and then everything.
#include "support/catch.hpp"
#include "support/store/faulty_vfs.hpp"
#include "support/store/life.hpp"
#include "support/store/store_faults.hpp"
#include "support/store/store_folder.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Takes no more than some bytes, of which it keeps some for batches that use its reserve.
class SmallStore final : public Store {
 public:
  Result<void> commit(const StoreBatch& batch, StoreSync sync) override {
    MemoryStore after = records;
    if (auto done = after.commit(batch, sync); !done) return done;
    std::size_t bytes = 0;
    static_cast<void>(
        after.read({}, {RecordKey::max, RecordKey::max, RecordKey::max},
                   [&](const RecordKey&, std::string_view body) { return bytes += body.size(), true; }));
    if (bytes > limit + (batch.uses_reserve() ? reserve : 0) && bytes > used) {
      ++refused;
      return Error{Errc::store_full, "the store is full"};
    }
    records = after;
    used = bytes;
    if (batch.uses_reserve()) ++urgent;
    return {};
  }
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override {
    return records.read(first, last, visit);
  }

  MemoryStore records;
  std::size_t limit = 40'000;
  std::size_t reserve = 4'000;
  std::size_t used = 0;
  std::size_t refused = 0;
  std::size_t urgent = 0;
};

std::string many(char letter, std::size_t size = 12'000) {
  return std::string(size, letter);
}

void poll(Life& life) {
  for (int i = 0; i < 10; ++i) life.runtime.poll();
}

// Agents "a", "b", "c" with a large turn each; what "d" hears does not fit in any more.
void fill(Life& life, SmallStore& store) {
  for (const char* id : {"a", "b", "c"}) {
    life.create(id);
    REQUIRE(life.find(id).send(many(*id, 6'000)));
    life.runtime.run_until_idle();
  }
  CHECK(store.refused == 0);
  const Agent d = life.create("d");
  d.create_child({.id = "child"}).value();
  poll(life);
  REQUIRE(d.send(many('d', 6'000)));
  life.runtime.run_until_idle();
  REQUIRE(store.refused != 0);
  store.urgent = 0;  // the restore has used the reserve
}

}  // namespace

TEST_CASE("a full store takes a stop while the rest waits", "[persist][failure][full][G14]") {
  SmallStore store;
  MemoryStore left;
  {
    Life life(store);
    fill(life, store);
    const std::size_t refused = store.refused;
    REQUIRE(life.find("d").stop({.reason = "r"}).took_effect());
    REQUIRE(life.find("a").pause().took_effect());
    poll(life);
    CHECK(store.urgent != 0);
    CHECK(store.refused == refused);  // the rest waits for its time
    REQUIRE(life.stops.size() == 1);
    CHECK(life.stops[0].agent_id == "d");
    CHECK(faults_of(store).empty());
    left = store.records;  // what a kill leaves
  }
  Life life(left);
  REQUIRE(life.report);
  CHECK(life.find("d").state().value() == AgentState::stopped);
  CHECK(life.find("child").state().value() == AgentState::stopped);
  CHECK(life.find("a").status().value().paused);
  CHECK(life.find("b").state().value() == AgentState::idle);
  CHECK(Life::texts(life.find("b")).size() == 2);
}

TEST_CASE("a full store that another tree has taken over takes no stop", "[persist][failure][full][owner]") {
  SmallStore store;
  Life life(store);
  fill(life, store);
  StoreBatch of_another;
  of_another.set_epoch(1'000, true);
  REQUIRE(store.commit(of_another, StoreSync::process));
  REQUIRE(life.find("a").stop().took_effect());
  poll(life);
  CHECK(store.urgent == 0);
  const auto done = life.tree->flush();
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::store_fenced);
}

TEST_CASE("a delete or a rewind makes room for what a full store has refused",
          "[persist][failure][full][G13]") {
  const bool deletes = GENERATE(true, false);
  SmallStore store;
  Life life(store);
  fill(life, store);
  if (deletes) {
    REQUIRE(life.find("a").terminate().took_effect());
  } else {
    REQUIRE(life.find("a").rewind(1));
  }
  poll(life);
  CHECK(faults_of(store).empty());
  CHECK(store.used < 30'000);
  CHECK(life.stops.size() == (deletes ? 1U : 0U));
  {
    MemoryStore killed = store.records;
    Life next(killed);
    REQUIRE(next.report);
    CHECK(next.tree->find("a").has_value() != deletes);
    if (!deletes) CHECK(Life::texts(next.find("a")).empty());
  }
  CHECK(life.tree->flush());
  CHECK(faults_of(store).empty());
  MemoryStore killed = store.records;
  Life next(killed);
  CHECK(Life::texts(next.find("d")).size() == 2);
}

TEST_CASE("what a full store takes is written in one poll, however many agents it stops",
          "[persist][failure][full][stop]") {
  SmallStore store;
  testing::ManualClock clock;  // no poll is cut short by its time
  Life life(store, {}, {}, {.clock = &clock});
  for (int i = 0; i < 250; ++i) life.create("small" + std::to_string(i));
  store.limit = 60'000;
  store.reserve = 40'000;
  fill(life, store);
  const std::size_t before = store.urgent;
  REQUIRE(life.tree->pause_all().took_effect());
  for (int i = 0; i < 250; ++i) REQUIRE(life.find("small" + std::to_string(i)).stop().took_effect());
  for (int i = 0; i < 10 && store.urgent == before; ++i) life.runtime.poll();
  CHECK(store.urgent >= before + 3);  // each has a hundred records
  CHECK(life.stops.size() == 250);
  MemoryStore left = store.records;
  const Life next(left);
  CHECK(next.tree->find("small7").value().state().value() == AgentState::stopped);
  CHECK(next.tree->find("b").value().status().value().paused);
}

TEST_CASE("the end of a tree stores its stops although the store is full", "[persist][failure][full][G14]") {
  SmallStore store;
  {
    Life life(store);
    fill(life, store);
    REQUIRE(life.tree->stop_all().took_effect());
  }
  Life life(store.records);
  REQUIRE(life.report);
  CHECK(life.find("b").state().value() == AgentState::stopped);
  CHECK(life.tree->create({.id = "new"}).error().code == Errc::agent_stopped);
}

TEST_CASE("what a full store gets is the present state, and no more each time", "[persist][failure][full]") {
  SmallStore store;
  Life life(store);
  fill(life, store);
  for (int i = 0; i < 3; ++i) {
    const Agent gone = life.create("gone");
    REQUIRE(gone.send(many('g', 6'000)));
    life.runtime.run_until_idle();
    REQUIRE(gone.terminate().took_effect());
    life.runtime.run_until_idle();
  }
  REQUIRE(life.find("d").terminate().took_effect());
  life.runtime.run_until_idle();
  CHECK(life.tree->flush());  // everything fits
  CHECK(faults_of(store).empty());
  CHECK(store.used < store.limit);
}

TEST_CASE("a stop that is resumed while the store is full is not reported, and opens nothing in it",
          "[persist][failure][full]") {
  SmallStore store;
  Life life(store);
  fill(life, store);
  REQUIRE(life.find("b").stop().took_effect());
  poll(life);
  REQUIRE(life.stops.size() == 1);
  REQUIRE(life.find("b").resume().took_effect());
  poll(life);
  MemoryStore killed = store.records;
  {
    Life next(killed);
    CHECK(next.find("b").state().value() == AgentState::stopped);  // until everything is written
  }
  REQUIRE(life.find("a").terminate().took_effect());
  life.runtime.run_until_idle();
  REQUIRE(life.tree->flush());
  Life next(store.records);
  CHECK(next.find("b").state().value() == AgentState::idle);
}

TEST_CASE("a file that has reached its limit takes stops and deletes", "[persist][sqlite][full]") {
  const StoreFolder folder;
  {
    auto store = SqliteStore::open(folder.file(), {.max_bytes = 400'000, .reserve_bytes = 64'000}).value();
    Life life(*store, {.sync = StoreSync::process});
    std::vector<Agent> agents;
    for (int i = 0; i < 12; ++i) {
      agents.push_back(life.create("a" + std::to_string(i)));
      poll(life);
      REQUIRE(agents.back().send(many('x', 40'000)));
      life.runtime.run_until_idle();
    }
    REQUIRE_FALSE(life.tree->flush());
    REQUIRE(agents[0].stop().took_effect());
    poll(life);
    CHECK(life.stops.size() == 1);
    for (int i = 1; i < 12; ++i) REQUIRE(agents[static_cast<std::size_t>(i)].terminate().took_effect());
    poll(life);
    CHECK(life.tree->flush());
  }
  auto store = SqliteStore::open(folder.file()).value();
  CHECK(faults_of(*store).empty());
  Life life(*store);
  CHECK(life.tree->size() == 1);
  CHECK(life.find("a0").state().value() == AgentState::stopped);
}

TEST_CASE("a reserve on a disk is held, given back and held again", "[store][sqlite][full]") {
  const StoreFolder folder;
  const std::string file = folder.file() + "-reserve";
  {
    auto store = SqliteStore::open(folder.file(), {.reserve_bytes = 300'000}).value();
    CHECK(std::filesystem::file_size(file) == 300'000);
    StoreBatch batch;
    batch.put({.kind = 1}, "x");
    batch.use_reserve(true);
    REQUIRE(store->commit(batch, StoreSync::process));
    CHECK(std::filesystem::file_size(file) == 300'000);  // the disk is not full
  }
  auto store = SqliteStore::open(folder.file(), {.reserve_bytes = 0}).value();
  REQUIRE(store->commit({}, StoreSync::process));
  CHECK(SqliteStore::open(folder.file() + "2", {.reserve_bytes = std::uint64_t{1} << 31}).error().code ==
        Errc::invalid_config);
}

TEST_CASE("a full disk gives the reserve to what uses it, and the next commit takes it back",
          "[store][sqlite][full]") {
  const StoreFolder folder;
  const std::string file = folder.file() + "-reserve";
  FaultyVfs vfs;
  auto store = SqliteStore::open(folder.file(), {.reserve_bytes = 300'000, .vfs = FaultyVfs::name}).value();
  std::uint64_t number = 0;
  enum class Disk { has_space, full_once, full };
  const auto commit = [&](bool uses_reserve, Disk disk) {
    StoreBatch batch;
    batch.put({1, 1, ++number}, "x");
    batch.use_reserve(uses_reserve);
    vfs.repair();
    if (disk == Disk::full_once) vfs.fail_after(0, FaultyVfs::Fault::full);
    if (disk == Disk::full) vfs.fail_at_random(1, 1, FaultyVfs::Fault::full);
    const Result<void> done = store->commit(batch, StoreSync::process);
    vfs.repair();
    return done ? Errc::none : done.error().code;
  };
  REQUIRE(commit(false, Disk::has_space) == Errc::none);
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    CHECK(commit(false, Disk::full) == Errc::store_full);
    CHECK(std::filesystem::file_size(file) == 300'000);  // it is not for this batch
    CHECK(commit(true, Disk::full_once) == Errc::none);
    CHECK(std::filesystem::file_size(file) == 0);
    CHECK(commit(true, Disk::full) == Errc::store_full);  // there is nothing to give back any more
    CHECK(commit(true, Disk::has_space) == Errc::none);
    CHECK(std::filesystem::file_size(file) == 0);
    CHECK(commit(false, Disk::has_space) == Errc::none);
    CHECK(std::filesystem::file_size(file) == 300'000);
  }
}

TEST_CASE("pages below the limit of a file are for batches that use the reserve", "[store][sqlite][full]") {
  const StoreFolder folder;
  constexpr std::uint64_t limit = 400'000;
  auto store = SqliteStore::open(folder.file(), {.max_bytes = limit, .reserve_bytes = 80'000}).value();
  std::uint64_t number = 0;
  const auto commit = [&](bool uses_reserve) {
    StoreBatch batch;
    batch.put({1, 1, ++number}, many('x', 3'900));  // a page
    batch.use_reserve(uses_reserve);
    const Result<void> done = store->commit(batch, StoreSync::process);
    CHECK((done || done.error().code == Errc::store_full));
    return done.has_value();
  };
  while (commit(false)) REQUIRE(number < 1000);
  std::size_t reserved = 0;
  while (commit(true)) {
    ++reserved;
    CHECK_FALSE(commit(false));  // the limit of the others stays
    REQUIRE(number < 1000);
  }
  CHECK(reserved >= 15);
  CHECK(reserved <= 20);
  CHECK(std::filesystem::file_size(folder.file()) <= limit);
}
