// What every store does: records in the order of their keys, batches that are made together.
#include "support/catch.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/memory_store.hpp>
#include <agentcore/sqlite_store.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using agentcore::test::records_of;
using agentcore::test::StoredRecords;
using agentcore::test::StoreFolder;

namespace {

std::unique_ptr<Store> make_store(const StoreFolder& folder, bool in_file) {
  if (!in_file) return std::make_unique<MemoryStore>();
  return SqliteStore::open(folder.file()).value();
}

void put(Store& store, const RecordKey& key, std::string body) {
  StoreBatch batch;
  batch.put(key, std::move(body));
  store.commit(batch, StoreSync::process).value();
}

}  // namespace

TEST_CASE("a store returns records in the order of their keys", "[store]") {
  const StoreFolder folder;
  const auto store = make_store(folder, GENERATE(false, true));
  StoreBatch batch;
  batch.put({2, 0, 0}, "d");
  batch.put({1, 2, 1}, "c");
  batch.put({1, 1, RecordKey::max}, "b");
  batch.put({1, 1, 2}, "a");
  CHECK(batch.bytes() == 4);
  CHECK(batch.changes().size() == 4);
  store->commit(batch, StoreSync::disk).value();
  std::string bodies;
  const auto visit = [&](const RecordKey&, std::string_view body) {
    bodies += body;
    return true;
  };
  SECTION("all of them") {
    store->read({}, {RecordKey::max, RecordKey::max, RecordKey::max}, visit).value();
    CHECK(bodies == "abcd");
  }
  SECTION("of one kind") {
    store->read({.kind = 1}, RecordKey::last_of(1), visit).value();
    CHECK(bodies == "abc");
  }
  SECTION("of one kind and owner") {
    store->read({.kind = 1, .owner = 1}, RecordKey::last_of(1, 1), visit).value();
    CHECK(bodies == "ab");
  }
  SECTION("from one key to another, both included") {
    store->read({1, 1, 2}, {1, 2, 1}, visit).value();
    CHECK(bodies == "abc");
    bodies.clear();
    store->read({1, 1, 3}, {1, 2, 0}, visit).value();
    CHECK(bodies == "b");
  }
  SECTION("none of an empty range") {
    store->read({1, 2, 1}, {1, 1, 2}, visit).value();
    CHECK(bodies.empty());
  }
  SECTION("up to the one at which the visit ends") {
    store
        ->read({}, {RecordKey::max, 0, 0},
               [&](const RecordKey& key, std::string_view body) {
                 bodies += body;
                 return key.owner == 1 && key.number == 2;
               })
        .value();
    CHECK(bodies == "ab");
  }
  SECTION("again after a visit that throws") {
    const auto throws = [](const RecordKey&, std::string_view) -> bool { throw std::runtime_error("no"); };
    CHECK_THROWS_AS(store->read({}, RecordKey::last_of(1), throws), std::runtime_error);
    put(*store, {3, 0, 0}, "e");
    store->read({}, RecordKey::last_of(3), visit).value();
    CHECK(bodies == "abcde");
  }
}

TEST_CASE("a store keeps any bytes", "[store]") {
  const StoreFolder folder;
  const auto store = make_store(folder, GENERATE(false, true));
  const std::vector<std::string> bodies{"", std::string(1, '\0'), "\xff\xfe no UTF-8",
                                        std::string(3'000'000, 'x')};
  StoreBatch batch;
  for (std::size_t i = 0; i < bodies.size(); ++i) batch.put({1, 1, i}, bodies[i]);
  store->commit(batch, StoreSync::process).value();
  const StoredRecords found = records_of(*store);
  REQUIRE(found.size() == bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) CHECK((found.at({1, 1, i}) == bodies[i]));
}

TEST_CASE("the changes of a batch are made in their order", "[store]") {
  const StoreFolder folder;
  const auto store = make_store(folder, GENERATE(false, true));
  put(*store, {1, 1, 1}, "old");
  put(*store, {1, 1, 2}, "erased");
  put(*store, {1, 1, 4}, "beyond the range");
  StoreBatch batch;
  batch.put({1, 1, 1}, "replaced");
  batch.put({1, 1, 3}, "erased at once");
  batch.erase({1, 1, 2}, {1, 1, 3});
  batch.put({1, 1, 3}, "written again");
  batch.erase({9, 9, 9});             // there is none
  batch.erase({1, 1, 4}, {1, 1, 3});  // an empty range
  store->commit(batch, StoreSync::process).value();
  CHECK(records_of(*store) == StoredRecords{{{1, 1, 1}, "replaced"},
                                            {{1, 1, 3}, "written again"},
                                            {{1, 1, 4}, "beyond the range"}});
  batch.clear();
  CHECK(batch.empty());
  CHECK(batch.bytes() == 0);
  store->commit(batch, StoreSync::disk).value();
  CHECK(records_of(*store).size() == 3);
}

TEST_CASE("a key that is too large is refused, and nothing of its batch is stored", "[store]") {
  const StoreFolder folder;
  const auto store = make_store(folder, GENERATE(false, true));
  const auto [key, field] = GENERATE(table<RecordKey, const char*>({{{RecordKey::max + 1, 0, 0}, "kind"},
                                                                    {{0, RecordKey::max + 1, 0}, "owner"},
                                                                    {{0, 0, RecordKey::max + 1}, "number"}}));
  StoreBatch batch;
  batch.put({1, 1, 1}, "x");
  SECTION("of a record") {
    batch.put(key, "y");
  }
  SECTION("at the end of a range") {
    batch.erase({}, key);
  }
  const Result<void> done = store->commit(batch, StoreSync::process);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::invalid_config);
  CHECK(done.error().message.find(field) != std::string::npos);
  CHECK_THROWS_AS(done.value(), BadResultAccess);
  CHECK(records_of(*store).empty());
}

TEST_CASE("a range with a key that is too large is refused, and nothing of it is read", "[store]") {
  const StoreFolder folder;
  const auto store = make_store(folder, GENERATE(false, true));
  const auto [key, field] = GENERATE(table<RecordKey, const char*>({{{RecordKey::max + 1, 0, 0}, "kind"},
                                                                    {{0, RecordKey::max + 1, 0}, "owner"},
                                                                    {{0, 0, RecordKey::max + 1}, "number"}}));
  put(*store, {0, 0, 0}, "first");
  put(*store, {RecordKey::max, RecordKey::max, RecordKey::max}, "last");
  const bool is_first = GENERATE(false, true);
  int visits = 0;
  const Result<void> done =
      store->read(is_first ? key : RecordKey(),
                  is_first ? RecordKey{RecordKey::max, RecordKey::max, RecordKey::max} : key,
                  [&](const RecordKey&, std::string_view) { return ++visits, true; });
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::invalid_config);
  CHECK(done.error().message.find(field) != std::string::npos);
  CHECK(visits == 0);
  CHECK(records_of(*store).size() == 2);
}
