// Both stores, and one that is closed and opened again at any time, have the same records after the same
// batches.
#include "support/prop.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/memory_store.hpp>
#include <agentcore/sqlite_store.hpp>

#include <memory>
#include <string>

using namespace agentcore;
using agentcore::test::records_of;
using agentcore::test::StoreFolder;

namespace {

RecordKey any_key() {
  const auto field = [] {
    return *rc::gen::element<std::uint64_t>(0, 1, 2, 3, RecordKey::max - 1, RecordKey::max);
  };
  return {field(), field(), field()};
}

StoreBatch any_batch() {
  StoreBatch batch;
  for (int changes = *rc::gen::inRange(0, 12); changes > 0; --changes) {
    if (*rc::gen::inRange(0, 4) != 0)
      batch.put(any_key(), *rc::gen::arbitrary<std::string>());
    else if (*rc::gen::arbitrary<bool>())
      batch.erase(any_key());
    else
      batch.erase(any_key(), any_key());
  }
  return batch;
}

}  // namespace

TEST_CASE("all stores have the same records after the same batches", "[property][store]") {
  prop("the records of the stores are equal, also those of any range", [] {
    const StoreFolder folder;
    MemoryStore memory;
    auto kept = SqliteStore::open(folder.file("kept.db")).value();
    auto reopened = SqliteStore::open(folder.file("reopened.db")).value();
    for (int steps = *rc::gen::inRange(1, 12); steps > 0; --steps) {
      const StoreBatch batch = any_batch();
      const auto sync = *rc::gen::element(StoreSync::process, StoreSync::disk);
      for (Store* const store : {static_cast<Store*>(&memory), static_cast<Store*>(kept.get()),
                                 static_cast<Store*>(reopened.get())})
        store->commit(batch, sync).value();
      if (*rc::gen::arbitrary<bool>()) {
        reopened.reset();
        reopened = SqliteStore::open(folder.file("reopened.db")).value();
      }
      const RecordKey first = any_key(), last = any_key();
      RC_ASSERT(records_of(*kept, first, last) == records_of(memory, first, last));
      RC_ASSERT(records_of(*reopened) == records_of(memory));
      RC_ASSERT(memory.size() == records_of(memory).size());
    }
  });
}
