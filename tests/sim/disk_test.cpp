// The simulated disk: what an end of the process at any change leaves for the next one.
#include "sim/sim_file.hpp"
#include "sim/verdict.hpp"
#include "support/catch.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/testing/manual_clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

using namespace agentcore;
using sim::SimDisk;
using sim::SimFile;

namespace {

constexpr std::uint64_t batches = 5;

StoreBatch batch_of(std::uint64_t number) {
  StoreBatch batch;
  batch.put({1, 1, 1}, "batch " + std::to_string(number));
  batch.put({2, 1, number}, std::string(3000, static_cast<char>('a' + number)));
  if (number >= 2) batch.erase({2, 1, number - 2});
  return batch;
}

struct Played {
  std::string problem;
  bool died = false;
  std::size_t records = 0;  // after the death
};

// Commits batches; the process dies within the change after `changes` of them, and the next one opens the
// file.
Played play(SimDisk::Loss loss, StoreSync sync, std::size_t changes, std::uint64_t seed) {
  testing::ManualClock clock;
  sim::Verdict verdict;
  SimFile file(clock, loss, verdict);
  Played played;
  file.disk().die_after(changes, seed, [&] {
    file.kill(seed);
    played.died = true;
  });
  REQUIRE(file.open());
  for (std::uint64_t number = 0; number < batches && !played.died; ++number)
    REQUIRE(file.commit(batch_of(number), sync));
  file.end_process();
  REQUIRE(file.open());
  played.records = test::records_of(file).size();
  played.problem = verdict.problem();
  return played;
}

}  // namespace

TEST_CASE("an acknowledged commit survives an end of the process within any change of the disk",
          "[sim][G14]") {
  const auto loss = GENERATE(SimDisk::Loss::nothing, SimDisk::Loss::unflushed);
  std::size_t changes = 0;
  for (bool died = true; died; ++changes) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      INFO("change " << changes << ", seed " << seed);
      const Played played = play(loss, StoreSync::disk, changes, seed);
      CHECK(played.problem == "");
      died = played.died;
    }
  }
  CHECK(changes > 20);
}

// The rule can fail: without a flush a loss of power takes commits away.
TEST_CASE("a loss of power takes away what was not flushed", "[sim]") {
  std::size_t lost = 0, torn = 0;
  for (std::size_t changes = 20; changes < 30; ++changes) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Played played = play(SimDisk::Loss::unflushed, StoreSync::process, changes, seed);
      lost += played.problem.starts_with("store: after the end of a process") ? 1U : 0U;
      torn += played.problem.find("damaged") != played.problem.npos ? 1U : 0U;
    }
  }
  CHECK(lost > 0);
  CHECK(torn == 0);
}

TEST_CASE("the simulated disk refuses what has no room, keeps a lock, and takes its time", "[sim]") {
  testing::ManualClock clock;
  sim::Verdict verdict;
  SimFile file(clock, SimDisk::Loss::nothing, verdict);
  REQUIRE(file.open());
  REQUIRE(file.commit(batch_of(0), StoreSync::disk));

  // More than the log gives back.
  StoreBatch large;
  large.put({3, 1, 1}, std::string(200'000, 'x'));
  file.disk().limit_space(0);
  CHECK(file.commit(large, StoreSync::disk).error().code == Errc::store_full);
  CHECK(file.disk().refused() != 0);
  file.heal();
  CHECK(file.commit(batch_of(1), StoreSync::disk).has_value());

  // SQLite tries again for two seconds.
  file.disk().be_busy(3);
  TimePoint before = clock.now();
  CHECK(file.commit(batch_of(2), StoreSync::disk).has_value());
  CHECK(clock.now() > before);
  file.disk().be_busy(1'000);
  CHECK(file.commit(batch_of(3), StoreSync::disk).error().code == Errc::store_in_use);
  CHECK(file.disk().found_busy() > 10);
  file.heal();

  before = clock.now();
  file.disk().be_slow(std::chrono::seconds(3));
  CHECK(file.commit(batch_of(3), StoreSync::disk).has_value());
  CHECK(clock.now() - before == Duration(std::chrono::seconds(3)));
  CHECK(verdict.problem() == "");
}
