// Batches that are merged after a failure have the effect of all of them, and no change more than that needs.
#include "persist/merged_batches.hpp"

#include "support/catch.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/memory_store.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace agentcore;
using agentcore::detail::persist::merged;
using agentcore::test::records_of;

namespace {

// Keys are few, so that ranges overlap, touch, contain each other, and begin and end at records.
RecordKey some_key(std::mt19937& random) {
  return {1 + random() % 2, random() % 2, random() % 4};
}

StoreBatch some_batch(std::mt19937& random, std::size_t changes) {
  StoreBatch batch;
  for (std::size_t i = 0; i < changes; ++i) {
    const RecordKey first = some_key(random);
    switch (random() % 3) {
      case 0:
        batch.put(first, std::to_string(random() % 1000));
        break;
      case 1:
        batch.erase(first);
        break;
      default:
        batch.erase(first, some_key(random));  // may be empty
    }
  }
  return batch;
}

}  // namespace

TEST_CASE("batches that are merged have the effect of all of them", "[persist][failure][full]") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    MemoryStore in_turn;
    REQUIRE(in_turn.commit(some_batch(random, 6), StoreSync::process));
    MemoryStore at_once = in_turn;
    std::vector<StoreBatch> batches;
    for (std::size_t i = 0; i <= random() % 4; ++i) batches.push_back(some_batch(random, random() % 5));
    std::vector<const StoreBatch*> parts;
    for (const StoreBatch& batch : batches) {
      REQUIRE(in_turn.commit(batch, StoreSync::process));
      parts.push_back(&batch);
    }
    const StoreBatch all = merged(parts);
    REQUIRE(at_once.commit(all, StoreSync::process));
    CHECK(records_of(at_once) == records_of(in_turn));
    // Erased ranges come first and do not overlap; then each record once, and none that is not there.
    bool any_record = false;
    const StoreBatch::Change* before = nullptr;
    for (const StoreBatch::Change& change : all.changes()) {
      if (change.body) CHECK(records_of(in_turn).at(change.first) == *change.body);
      CHECK((change.body || !any_record));
      const bool is_same_kind = before && before->body.has_value() == change.body.has_value();
      if (is_same_kind) CHECK(before->last < change.first);
      any_record = any_record || change.body;
      before = &change;
    }
  }
}
