// Errors of stores.
#include "support/store/faulty_vfs.hpp"
#include "support/store/store_folder.hpp"
#include "unit/errors/error_rows.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/sqlite_store.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>
#include <unistd.h>

using namespace agentcore;
using namespace agentcore::test;

namespace {

Error error_of_open(const std::string& path, SqliteStoreOptions options = {}) {
  const auto store = SqliteStore::open(path, std::move(options));
  return store ? Error{} : store.error();
}

Error error_of_put(Store& store, const RecordKey& key, std::string body = "x") {
  StoreBatch batch;
  batch.put(key, std::move(body));
  const Result<void> done = store.commit(batch, StoreSync::process);
  return done ? Error{} : done.error();
}

void run_sql(const std::string& path, const char* sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

void add_options(ErrorRows& rows) {
  const auto add = [&](const std::string& path, SqliteStoreOptions options, std::string text) {
    rows.push_back({text, error_of_open(path, std::move(options)), Errc::invalid_config, text});
  };
  add("", {}, "SqliteStore::open: the path is empty; name a file");
  add(std::string(1, '\0'), {}, "SqliteStore::open: the path has a zero byte");
  add("x", {.max_bytes = 65'535}, "SqliteStoreOptions::max_bytes is too small: 0, or at least 65,536");
  add("x", {.reserve_bytes = (std::uint64_t{1} << 30) + 1},
      "SqliteStoreOptions::reserve_bytes is out of range: 0 to 1,073,741,824");
  add("x", {.busy_timeout = std::chrono::hours(2)},
      "SqliteStoreOptions::busy_timeout is out of range: 0 to 1 hour");
  add("x", {.vfs = "none"},
      "SqliteStoreOptions::vfs: SQLite knows no VFS \"none\"; register it first (sqlite3_vfs_register)");
  MemoryStore store;
  rows.push_back({"a key", error_of_put(store, {0, RecordKey::max + 1, 0}), Errc::invalid_config,
                  "StoreBatch: the owner of a key is larger than RecordKey::max (2^63 - 1)"});
  const Result<void> read =
      store.read({}, {0, 0, RecordKey::max + 1}, [](const RecordKey&, std::string_view) { return true; });
  StoreBatch of_epoch;
  of_epoch.set_epoch(RecordKey::max + 1);
  rows.push_back({"an epoch", store.commit(of_epoch, StoreSync::process).error(), Errc::invalid_config,
                  "StoreBatch: the epoch is larger than RecordKey::max (2^63 - 1)"});
  of_epoch.set_epoch(3);
  rows.push_back({"an earlier owner", store.commit(of_epoch, StoreSync::process).error(), Errc::store_fenced,
                  "the store is in epoch 0, and the batch is of epoch 3: another tree has taken the agents "
                  "over; use that tree, or call AgentTree::restore() in a new one"});
  rows.push_back({"a key to read", read ? Error{} : read.error(), Errc::invalid_config,
                  "Store::read: the number of a key is larger than RecordKey::max (2^63 - 1)"});
}

void add_paths(ErrorRows& rows, const StoreFolder& folder) {
  const std::string path = folder.file();
  std::filesystem::create_directory(folder.file("sub"));
  rows.push_back({"a folder", error_of_open(folder.file("sub")), Errc::store_unavailable,
                  folder.file("sub") + " is a folder; give the path of a file"});
  rows.push_back(
      {"a missing file", error_of_open(path, {.read_only = true}), Errc::store_unavailable,
       path + ": No such file or directory; check that the path names a file in a folder that exists"});
  run_sql(folder.file("songs.db"), "CREATE TABLE songs (title)");
  rows.push_back({"a foreign database", error_of_open(folder.file("songs.db")), Errc::store_unavailable,
                  folder.file("songs.db") +
                      ": the file is an SQLite database of another program; give the path of another file"});
  std::ofstream(folder.file("text.db")) << std::string(5000, 't');
  rows.push_back({"a text", error_of_open(folder.file("text.db")), Errc::store_corrupt,
                  folder.file("text.db") + ": file is not a database; give the path of another file"});
}

void add_store(ErrorRows& rows, const StoreFolder& folder) {
  const std::string path = folder.file();
  auto store = SqliteStore::open(path, {.max_bytes = 65'536}).value();
  rows.push_back({"a second writer", error_of_open(path), Errc::store_in_use,
                  path + "-lock: another store (process " + std::to_string(::getpid()) +
                      ") writes this file; close it, or open the store read-only"});
  rows.push_back({"the size limit", error_of_put(*store, {1, 1, 1}, std::string(70'000, 'x')),
                  Errc::store_full,
                  path + ": database or disk is full; free space on the disk, erase records, or raise "
                         "SqliteStoreOptions::max_bytes"});
  rows.push_back({"a reader", error_of_put(*SqliteStore::open(path, {.read_only = true}).value(), {1, 1, 1}),
                  Errc::store_read_only, path + ": the store was opened read-only"});
  store.reset();
  run_sql(path, "PRAGMA user_version = 99");
  rows.push_back({"a newer version", error_of_open(path), Errc::store_newer,
                  path +
                      ": a newer version of agentcore has written the file (99; this one knows up to 2); use "
                      "that version"});
}

void add_files(ErrorRows& rows, const StoreFolder& folder) {
  const std::string path = folder.file(), log = path + "-wal";
  auto store = SqliteStore::open(path).value();
  std::filesystem::remove(path + "-lock");
  rows.push_back({"a second writer without the lock file", error_of_open(path), Errc::store_in_use,
                  log + ": another store writes this file, although its lock file was removed; close it, or "
                        "open the store read-only"});
  std::filesystem::resize_file(log, 32);
  rows.push_back({"a truncated file", error_of_put(*store, {1, 1, 1}), Errc::store_corrupt,
                  log + " was truncated while it was open; restore it from a backup"});
  std::filesystem::remove(log);
  rows.push_back({"a removed file", error_of_put(*store, {1, 1, 1}), Errc::store_unavailable,
                  log + " was removed while it was open, so what is written would be lost; put it back, or "
                        "close it and open it again"});
  std::ofstream(log) << "x";
  rows.push_back({"a replaced file", error_of_put(*store, {1, 1, 1}), Errc::store_unavailable,
                  log + " was replaced by another file while it was open, so what is written would be lost; "
                        "put it back, or close it and open it again"});
}

void add_trees(ErrorRows& rows) {
  MemoryStore store;
  Runtime runtime;
  AgentTree first(runtime), second(runtime);
  CHECK(first.restore(&store));
  rows.push_back({"a store of another tree", second.restore(&store).error(), Errc::store_in_use,
                  "AgentTree::restore: another tree uses this Store; destroy that tree first, or give this "
                  "one a store of its own"});
}

void add_backup(ErrorRows& rows, const StoreFolder& folder) {
  const std::string path = folder.file(), missing = folder.file("none/copy.db"),
                    copy = folder.file("copy.db");
  const auto store = SqliteStore::open(path).value();
  const auto add = [&](const char* cause, const std::string& target, Errc code, const std::string& text) {
    const Result<void> done = store->back_up(target);
    rows.push_back({cause, done ? Error{} : done.error(), code, text});
  };
  add("a copy without a path", "", Errc::invalid_config,
      "SqliteStore::back_up: the path is empty; name a file");
  add("a copy with a zero byte", std::string(1, '\0'), Errc::invalid_config,
      "SqliteStore::back_up: the path has a zero byte");
  add("a copy onto itself", path, Errc::invalid_config,
      path + ": the copy of a store cannot be the store itself; name another file");
  add("a copy as a folder", folder.file("."), Errc::store_unavailable,
      folder.file(".") + " is a folder; give the path of a file");
  add("a copy as a device", "/dev/null", Errc::store_unavailable,
      "/dev/null is not a file; give the path of a file");
  add("a copy in a missing folder", missing, Errc::store_unavailable,
      missing + ": No such file or directory; check that the path names a file in a folder that exists");
  std::ofstream(copy) << "mine";
  add("a copy that exists", copy, Errc::store_unavailable,
      copy +
          ": the file exists; name another one, or set SqliteBackupOptions::replace (agentcore-store: "
          "--force)");
}

void add_fault(ErrorRows& rows, const StoreFolder& folder) {
  FaultyVfs vfs;
  const auto store = SqliteStore::open(folder.file(), {.vfs = FaultyVfs::name}).value();
  vfs.fail_after(0, FaultyVfs::Fault::gone);
  rows.push_back({"an error of the disk", error_of_put(*store, {1, 1, 1}), Errc::store_failed,
                  folder.file() + ": disk I/O error (Input/output error)"});
  vfs.repair();
}

}  // namespace

ErrorRows test::store_errors() {
  ErrorRows rows;
  add_options(rows);
  const StoreFolder paths, store, fault, files, backup;
  add_paths(rows, paths);
  add_store(rows, store);
  add_files(rows, files);
  add_trees(rows);
  add_backup(rows, backup);
  add_fault(rows, fault);
  return rows;
}

TEST_CASE("errors of stores name the file and what to change", "[errors][store]") {
  check(store_errors());
}
