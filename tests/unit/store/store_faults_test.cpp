// Each call of the operating system that a store makes fails once: what was committed stays, and a batch that
// was refused is not there.
#include "support/catch.hpp"
#include "support/store/faulty_vfs.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/sqlite_store.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

using namespace agentcore;
using agentcore::test::FaultyVfs;
using agentcore::test::records_of;
using agentcore::test::StoredRecords;
using agentcore::test::StoreFolder;

namespace {

constexpr std::uint64_t batches = 6;

// Batches that replace, add and erase; large enough for a page of their own.
StoreBatch batch_of(std::uint64_t number) {
  StoreBatch batch;
  batch.put({1, 1, 1}, "batch " + std::to_string(number));
  batch.put({2, 1, number}, std::string(3000, static_cast<char>('a' + number)));
  if (number >= 3) batch.erase({2, 1, number - 3});
  return batch;
}

void apply(StoredRecords& records, std::uint64_t number) {
  records[{1, 1, 1}] = "batch " + std::to_string(number);
  records[{2, 1, number}] = std::string(3000, static_cast<char>('a' + number));
  if (number >= 3) records.erase({2, 1, number - 3});
}

bool is_of_store(Errc code) {
  return code == Errc::store_failed || code == Errc::store_full || code == Errc::store_unavailable ||
         code == Errc::store_in_use || code == Errc::store_corrupt || code == Errc::out_of_memory;
}

struct Outcome {
  StoredRecords acknowledged;      // what the commits that returned success have made
  StoredRecords with_refused_one;  // and the batch that was refused, if it was stored nevertheless
  bool errors_named = true;
  bool stayed_usable = true;
  bool was_refused = false;  // the store was not opened, or a batch was refused
};

// Commits all batches; after one that is refused: repairs the disk, reads, and commits the same batch again.
Outcome play(FaultyVfs& vfs, const std::string& path, bool repairs) {
  Outcome outcome;
  auto store = SqliteStore::open(path, {.vfs = FaultyVfs::name});
  if (!store) {
    outcome.was_refused = true;
    outcome.errors_named = is_of_store(store.error().code);
    return outcome;
  }
  for (std::uint64_t number = 0; number < batches; ++number) {
    outcome.with_refused_one = outcome.acknowledged;
    apply(outcome.with_refused_one, number);
    if (const Result<void> done = (*store)->commit(batch_of(number), StoreSync::disk); !done) {
      outcome.was_refused = true;
      outcome.errors_named = outcome.errors_named && is_of_store(done.error().code);
      if (!repairs) return outcome;
      vfs.repair();
      outcome.stayed_usable = records_of(**store) == outcome.acknowledged &&
                              (*store)->commit(batch_of(number), StoreSync::disk).has_value();
    }
    apply(outcome.acknowledged, number);
  }
  outcome.with_refused_one = outcome.acknowledged;
  return outcome;
}

}  // namespace

TEST_CASE("a store survives the failure of any one call of the operating system", "[store][sqlite][faults]") {
  FaultyVfs vfs;
  std::size_t calls = 0;
  {
    const StoreFolder folder;
    CHECK(play(vfs, folder.file(), false).acknowledged.size() == 4);
    calls = vfs.calls();
  }
  CHECK(calls > 50);
  const auto fault = GENERATE(FaultyVfs::Fault::once, FaultyVfs::Fault::full);
  std::size_t refused = 0;
  for (std::size_t call = 0; call < calls; ++call) {
    const StoreFolder folder;
    INFO("call " << call << " of " << calls);
    vfs.fail_after(call, fault);
    const Outcome outcome = play(vfs, folder.file(), true);
    refused += outcome.was_refused;
    vfs.repair();
    CHECK(outcome.errors_named);
    CHECK(outcome.stayed_usable);
    const auto store = SqliteStore::open(folder.file()).value();
    CHECK((records_of(*store) == outcome.acknowledged));
    CHECK(store->check().value().empty());
  }
  // Of the others most are checkpoints, which are tried again; and on a full disk the log is emptied first.
  CHECK(refused > calls / (fault == FaultyVfs::Fault::once ? 2 : 3));
  WARN("each of " << calls << " calls of the operating system failed in turn; " << refused
                  << " made a commit fail");
}

// Without a write-ahead log a loss of power may take commits away that were on the disk.
TEST_CASE("a store that is open has a write-ahead log, whichever call failed", "[store][sqlite][faults]") {
  FaultyVfs vfs;
  std::size_t calls = 0;
  {
    const StoreFolder folder;
    const auto store = SqliteStore::open(folder.file(), {.vfs = FaultyVfs::name}).value();
    calls = vfs.calls();
  }
  const auto fault = GENERATE(FaultyVfs::Fault::once, FaultyVfs::Fault::full);
  std::size_t opened = 0;
  for (std::size_t call = 0; call < calls; ++call) {
    const StoreFolder folder;
    INFO("call " << call << " of " << calls);
    vfs.fail_after(call, fault);
    const auto store = SqliteStore::open(folder.file(), {.vfs = FaultyVfs::name});
    vfs.repair();
    if (!store) continue;
    ++opened;
    REQUIRE((*store)->commit(batch_of(0), StoreSync::disk));
    CHECK(std::filesystem::exists(folder.file() + "-wal"));
  }
  CHECK(calls > 40);
  CHECK(opened < calls / 2);  // most are needed
}

TEST_CASE("what a store has committed is there after the disk went away in any call",
          "[store][sqlite][faults]") {
  FaultyVfs vfs;
  std::size_t calls = 0;
  {
    const StoreFolder folder;
    static_cast<void>(play(vfs, folder.file(), false));
    calls = vfs.calls();
  }
  const auto fault = GENERATE(FaultyVfs::Fault::gone, FaultyVfs::Fault::torn);
  for (std::size_t call = 0; call < calls; ++call) {
    const StoreFolder folder;
    INFO("call " << call << " of " << calls);
    vfs.fail_after(call, fault);
    const Outcome outcome = play(vfs, folder.file(), false);
    vfs.repair();
    CHECK(outcome.errors_named);
    const auto store = SqliteStore::open(folder.file()).value();
    const StoredRecords found = records_of(*store);
    // A batch whose commit failed in the flush may be there; half of it may not.
    CHECK((found == outcome.acknowledged || found == outcome.with_refused_one));
    CHECK(store->check().value().empty());
  }
}
