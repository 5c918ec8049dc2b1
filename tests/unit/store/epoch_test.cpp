// The epochs of the batches that a store takes: one owner at a time.
#include "support/catch.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"
#include "support/store/run_sql.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/memory_store.hpp>
#include <agentcore/sqlite_store.hpp>

#include <cstddef>
#include <memory>
#include <string>

using namespace agentcore;
using agentcore::test::records_of;
using agentcore::test::StoreFolder;

namespace {

Errc commit(Store& store, std::uint64_t epoch, bool begins, const char* body) {
  StoreBatch batch;
  if (*body) batch.put({1, 1, 1}, body);
  batch.set_epoch(epoch, begins);
  const Result<void> done = store.commit(batch, StoreSync::process);
  return done ? Errc::none : done.error().code;
}

}  // namespace

TEST_CASE("a store takes the batches of its last owner alone", "[store][epoch][G14]") {
  const StoreFolder folder;
  const bool in_file = GENERATE(false, true);
  CAPTURE(in_file);
  std::unique_ptr<Store> store = std::make_unique<MemoryStore>();
  if (in_file) store = SqliteStore::open(folder.file()).value();
  const auto text = [&] { return records_of(*store).at({1, 1, 1}); };
  // Nobody has begun an epoch.
  CHECK(commit(*store, 1, false, "x") == Errc::store_fenced);
  CHECK(records_of(*store).empty());
  CHECK(commit(*store, 1, true, "first") == Errc::none);
  CHECK(commit(*store, 1, false, "second") == Errc::none);
  // Only one of two that begin the same epoch gets it.
  CHECK(commit(*store, 1, true, "other") == Errc::store_fenced);
  CHECK(text() == "second");
  CHECK(commit(*store, 5, true, "of the next owner") == Errc::none);
  CHECK(commit(*store, 1, false, "late") == Errc::store_fenced);
  CHECK(commit(*store, 4, true, "late") == Errc::store_fenced);
  CHECK(commit(*store, 6, false, "early") == Errc::store_fenced);
  CHECK(text() == "of the next owner");
  // A batch without changes says who has the store.
  CHECK(commit(*store, 1, false, "") == Errc::store_fenced);
  CHECK(commit(*store, 5, false, "") == Errc::none);
  // A batch without an epoch is not checked.
  CHECK(commit(*store, 0, false, "of a program") == Errc::none);
  CHECK(commit(*store, 5, false, "again") == Errc::none);
}

TEST_CASE("an epoch is as durable as the batch that begins it", "[store][epoch][sqlite]") {
  const StoreFolder folder;
  {
    const auto store = SqliteStore::open(folder.file(), {.max_bytes = 65'536}).value();
    REQUIRE(commit(*store, 3, true, "x") == Errc::none);
    // A batch that is not stored begins nothing.
    StoreBatch batch;
    batch.set_epoch(9, true);
    batch.put({1, 1, 2}, std::string(100'000, 'x'));
    REQUIRE(store->commit(batch, StoreSync::process).error().code == Errc::store_full);
    CHECK(commit(*store, 3, false, "y") == Errc::none);
  }
  const auto store = SqliteStore::open(folder.file()).value();
  CHECK(commit(*store, 3, true, "z") == Errc::store_fenced);
  CHECK(commit(*store, 3, false, "z") == Errc::none);
  CHECK(records_of(*store).at({1, 1, 1}) == "z");
}

#ifndef RACES_WATCHED
TEST_CASE("a refused batch leaves no transaction where there is no memory for the error",
          "[store][epoch][sqlite][G16]") {
  const StoreFolder folder;
  const auto store = SqliteStore::open(folder.file()).value();
  REQUIRE(commit(*store, 5, true, "kept") == Errc::none);
  StoreBatch late;
  late.set_epoch(1);
  bool failed = true;
  std::size_t refused = 0;
  for (std::size_t allocation = 1; failed; ++allocation) {
    CAPTURE(allocation);
    Errc code = Errc::none;
    {
      const agentcore::test::FailingAllocation fails(allocation);
      const Result<void> done = store->commit(late, StoreSync::process);
      code = done ? Errc::none : done.error().code;
      failed = fails.failed();
    }
    CHECK(code == (failed ? Errc::out_of_memory : Errc::store_fenced));
    refused += failed ? 1U : 0U;
    CHECK(commit(*store, 5, false, "again") == Errc::none);
  }
  CHECK(refused > 0);
}
#endif

TEST_CASE("an epoch that is too large is refused", "[store][epoch]") {
  MemoryStore store;
  CHECK(commit(store, RecordKey::max + 1, true, "x") == Errc::invalid_config);
  CHECK(commit(store, RecordKey::max, true, "x") == Errc::none);
}

TEST_CASE("a batch that is cleared has no epoch, and uses no reserve", "[store][epoch]") {
  StoreBatch batch;
  batch.set_epoch(4, true);
  batch.use_reserve(true);
  batch.put({1, 1, 1}, "x");
  batch.clear();
  CHECK(batch.empty());
  CHECK(batch.bytes() == 0);
  CHECK_FALSE(batch.uses_reserve());
  CHECK(batch.epoch() == 0);
  CHECK_FALSE(batch.begins_epoch());
}

TEST_CASE("a file of the version before epochs is brought to this one", "[store][epoch][sqlite]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  {
    const auto store = SqliteStore::open(path).value();
    REQUIRE(commit(*store, 0, false, "old") == Errc::none);
  }
  test::run_sql(path, "DROP TABLE owner; PRAGMA user_version = 1");
  CHECK(SqliteStore::open(path, {.read_only = true}).error().code == Errc::store_unavailable);
  const auto store = SqliteStore::open(path).value();
  CHECK(records_of(*store).at({1, 1, 1}) == "old");
  CHECK(commit(*store, 1, true, "new") == Errc::none);
}
