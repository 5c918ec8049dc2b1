// What a store notices when somebody removes, replaces or truncates its files while it has them open.
#include "support/catch.hpp"
#include "support/store/run_sql.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/sqlite_store.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace agentcore;
using agentcore::test::records_of;
using agentcore::test::run_sql;
using agentcore::test::StoreFolder;

namespace {

std::unique_ptr<SqliteStore> opened(const std::string& path) {
  return SqliteStore::open(path).value();
}

Error put(Store& store, std::uint64_t number, std::string body = "x") {
  StoreBatch batch;
  batch.put({1, 1, number}, std::move(body));
  const Result<void> done = store.commit(batch, StoreSync::process);
  return done ? Error{} : done.error();
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void replace_by_copy(const std::string& path) {
  std::filesystem::copy_file(path, path + ".copy");
  std::filesystem::rename(path + ".copy", path);
}

}  // namespace

TEST_CASE("a store notices that one of its files is gone", "[store][sqlite][files][G14]") {
  const StoreFolder folder;
  const std::string name = GENERATE("agents.db", "agents.db-wal");
  const bool replaced = GENERATE(false, true);
  CAPTURE(name, replaced);
  const auto store = opened(folder.file());
  REQUIRE(put(*store, 1).code == Errc::none);
  const std::string path = folder.file(name), away = folder.file("away");
  if (replaced)
    replace_by_copy(path);
  else
    std::filesystem::rename(path, away);
  const Error error = put(*store, 2);
  CHECK(error.code == Errc::store_unavailable);
  CHECK(says(error.message, path + (replaced ? " was replaced" : " was removed")));
  REQUIRE(store->check().value().size() == 1);
  CHECK(store->check().value().front() == error.message);
  CHECK(store->compact().error().code == Errc::store_unavailable);
  // A batch without changes asks for that, too.
  CHECK(store->commit({}, StoreSync::process).error().code == Errc::store_unavailable);
  if (replaced) return;
  std::filesystem::rename(away, path);
  CHECK(put(*store, 2).code == Errc::none);
  CHECK(store->check().value().empty());
}

TEST_CASE("a store notices that one of its files was truncated", "[store][sqlite][files][G14]") {
  const StoreFolder folder;
  const std::string name = GENERATE("agents.db", "agents.db-wal");
  CAPTURE(name);
  const auto store = opened(folder.file());
  REQUIRE(put(*store, 1, std::string(50'000, 'x')).code == Errc::none);
  REQUIRE(store->compact());  // the database has the record
  REQUIRE(put(*store, 2, std::string(50'000, 'y')).code == Errc::none);
  const auto size = std::filesystem::file_size(folder.file(name));
  std::filesystem::resize_file(folder.file(name), size - 4096);
  const Error error = put(*store, 3);
  CHECK(error.code == Errc::store_corrupt);
  CHECK(says(error.message, folder.file(name) + " was truncated"));
  CHECK(put(*store, 3).code == Errc::store_corrupt);  // it stays so
  REQUIRE_FALSE(store->check().value().empty());
  CHECK(says(store->check().value().front(), "was truncated"));
}

TEST_CASE("a checkpoint or a compaction by another program is no damage", "[store][sqlite][files]") {
  const StoreFolder folder;
  const auto store = opened(folder.file());
  for (std::uint64_t i = 0; i < 20; ++i) REQUIRE(put(*store, i, std::string(50'000, 'x')).code == Errc::none);
  StoreBatch erase;
  erase.erase({1, 1, 1}, {1, 1, 19});
  REQUIRE(store->commit(erase, StoreSync::process));
  const auto data = std::filesystem::file_size(folder.file());
  run_sql(folder.file(), "PRAGMA wal_checkpoint(TRUNCATE)");
  REQUIRE(std::filesystem::file_size(folder.file("agents.db-wal")) == 0);
  CHECK(put(*store, 30).code == Errc::none);
  run_sql(folder.file(), "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  CHECK(std::filesystem::file_size(folder.file()) < std::max<std::uintmax_t>(data, 200'000));
  CHECK(put(*store, 31).code == Errc::none);
  CHECK(store->check().value().empty());
  REQUIRE(store->compact());
  CHECK(put(*store, 32).code == Errc::none);
  CHECK(records_of(*store).size() == 4);
}

TEST_CASE("a second writer does not get in by the removal of the lock file", "[store][sqlite][files][G14]") {
  const StoreFolder folder;
  auto first = opened(folder.file());
  REQUIRE(put(*first, 1).code == Errc::none);
  std::filesystem::remove(folder.file("agents.db-lock"));
  const auto refusal = [&] {
    const auto second = SqliteStore::open(folder.file());
    return second ? Error{} : second.error();
  };
  CHECK(refusal().code == Errc::store_in_use);
  CHECK(says(refusal().message, "another store writes this file"));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(refusal().code == Errc::store_in_use ? 0 : 1);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  // The refused ones have changed nothing.
  CHECK(put(*first, 2).code == Errc::none);
  CHECK(SqliteStore::open(folder.file(), {.read_only = true}));
  first.reset();
  CHECK(records_of(*opened(folder.file())).size() == 2);
}

TEST_CASE("a tree does not say that a stop is stored when the file is gone", "[store][sqlite][files][G14]") {
  const StoreFolder folder;
  std::shared_ptr<SqliteStore> store = opened(folder.file());
  Runtime runtime;
  AgentTree tree(runtime);
  std::vector<Errc> failures;
  std::size_t persisted = 0;
  REQUIRE(tree.restore(store, {.on_failure = [&](const Error& error) {
                         failures.push_back(error.code);
                         return AfterStoreFailure::retry;
                       }}));
  const Subscription heard = tree.on<StopPersisted>([&](const StopPersisted&) { ++persisted; });
  const Agent agent = tree.create({.id = "a"}).value();
  REQUIRE(tree.flush());
  std::filesystem::remove(folder.file());
  // Nothing has changed since, and yet it would be lost.
  CHECK(tree.flush().error().code == Errc::store_unavailable);
  REQUIRE(agent.stop().took_effect());
  runtime.run_for(std::chrono::milliseconds(0));
  CHECK(tree.flush().error().code == Errc::store_unavailable);
  CHECK(persisted == 0);
  CHECK(failures.front() == Errc::store_unavailable);
}
