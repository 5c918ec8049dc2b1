// The file of a SqliteStore: who may open it, and what is wrong with a file that is none.
#include "store/sqlite/schema.hpp"
#include "support/catch.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/sqlite_store.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace agentcore;
using agentcore::test::records_of;
using agentcore::test::StoreFolder;

namespace {

std::unique_ptr<SqliteStore> opened(const std::string& path, SqliteStoreOptions options = {}) {
  return SqliteStore::open(path, std::move(options)).value();
}

Error refusal(const std::string& path, SqliteStoreOptions options = {}) {
  const auto store = SqliteStore::open(path, std::move(options));
  return store ? Error{} : store.error();
}

Result<void> put(Store& store, const RecordKey& key, std::string body, StoreSync sync = StoreSync::process) {
  StoreBatch batch;
  batch.put(key, std::move(body));
  return store.commit(batch, sync);
}

void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

// SQLite's own VFS, of which the first wait for a lock ends a transaction of another program.
class WaitingVfs {
 public:
  static constexpr const char* name = "agentcore-waiting";

  explicit WaitingVfs(sqlite3* other) : vfs_(*sqlite3_vfs_find(nullptr)) {
    vfs_.zName = name;
    vfs_.xSleep = [](sqlite3_vfs*, int microseconds) {
      if (waits++ == 0) sqlite3_exec(of_other, "ROLLBACK", nullptr, nullptr, nullptr);
      return microseconds;
    };
    waits = 0;
    of_other = other;
    REQUIRE(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
  }
  ~WaitingVfs() { sqlite3_vfs_unregister(&vfs_); }
  WaitingVfs(const WaitingVfs&) = delete;
  WaitingVfs& operator=(const WaitingVfs&) = delete;

  static inline int waits = 0;

 private:
  static inline sqlite3* of_other = nullptr;
  sqlite3_vfs vfs_;
};

bool says(const Error& error, const std::string& text) {
  return error.message.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("records are there when the file is opened again", "[store][sqlite]") {
  const StoreFolder folder;
  put(*opened(folder.file()), {1, 2, 3}, "kept", StoreSync::disk).value();
  CHECK(records_of(*opened(folder.file())).at({1, 2, 3}) == "kept");
}

TEST_CASE("of several changes of a record in a large batch the last one counts", "[store][sqlite]") {
  const StoreFolder folder;
  constexpr std::uint64_t records = 40;  // so many that no sort leaves them in their order by chance
  StoreBatch batch;
  for (const std::string round : {"first", "second", "last"})
    for (std::uint64_t i = records; i-- > 0;) batch.put({1, i * 7 % records, 0}, round + std::to_string(i));
  batch.erase({1, 3, 0}, {1, 5, 0});
  batch.put({1, 4, 0}, "again");
  opened(folder.file())->commit(batch, StoreSync::process).value();
  const auto found = records_of(*opened(folder.file()));
  CHECK(found.size() == records - 2);
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::uint64_t owner = i * 7 % records;
    if (owner == 4) CHECK(found.at({1, owner, 0}) == "again");
    if (owner < 3 || owner > 5) CHECK(found.at({1, owner, 0}) == "last" + std::to_string(i));
  }
}

TEST_CASE("only the owner may read the files of a store", "[store][sqlite]") {
  const StoreFolder folder;
  const auto store = opened(folder.file());
  put(*store, {1, 1, 1}, "x").value();
  for (const char* const name : {"agents.db", "agents.db-wal", "agents.db-shm", "agents.db-lock"}) {
    struct stat status {};
    INFO(name);
    REQUIRE(::stat(folder.file(name).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
}

TEST_CASE("one store at a time writes a file", "[store][sqlite]") {
  const StoreFolder folder;
  auto first = opened(folder.file());
  const Error error = refusal(folder.file());
  CHECK(error.code == Errc::store_in_use);
  CHECK(says(error, "process " + std::to_string(::getpid())));
  CHECK(says(error, "read-only"));
  // The refused one has taken nothing from the first.
  put(*first, {1, 1, 1}, "x").value();
  CHECK(refusal(folder.file()).code == Errc::store_in_use);
  first.reset();
  CHECK(records_of(*opened(folder.file())).size() == 1);
}

TEST_CASE("a read-only store follows the one that writes", "[store][sqlite]") {
  const StoreFolder folder;
  CHECK(refusal(folder.file(), {.read_only = true}).code == Errc::store_unavailable);
  CHECK_FALSE(std::filesystem::exists(folder.file()));
  const auto writer = opened(folder.file());
  const auto reader = opened(folder.file(), {.read_only = true});
  CHECK(records_of(*reader).empty());
  put(*writer, {1, 1, 1}, "x").value();
  CHECK(records_of(*reader).size() == 1);
  CHECK(put(*reader, {1, 1, 2}, "y").error().code == Errc::store_read_only);
  CHECK(reader->compact().error().code == Errc::store_read_only);
  CHECK(reader->check().value().empty());
  CHECK(records_of(*writer).size() == 1);
}

TEST_CASE("a commit to a file that another program has locked is refused, and succeeds afterwards",
          "[store][sqlite]") {
  const StoreFolder folder;
  const auto store = opened(folder.file(), {.busy_timeout = Duration(0)});
  put(*store, {1, 1, 1}, "x").value();
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(folder.file().c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  const Result<void> refused = put(*store, {1, 1, 2}, "y");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::store_in_use);
  CHECK(says(refused.error(), "another program uses the file; close it"));
  CHECK(records_of(*store).size() == 1);  // it is still read
  REQUIRE(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(other);
  put(*store, {1, 1, 2}, "y").value();
  CHECK(records_of(*opened(folder.file(), {.read_only = true})).size() == 2);
}

TEST_CASE("a commit waits for another program as long as busy_timeout says", "[store][sqlite]") {
  const StoreFolder folder;
  put(*opened(folder.file()), {1, 1, 1}, "x").value();
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(folder.file().c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "PRAGMA journal_mode", nullptr, nullptr, nullptr) == SQLITE_OK);
  {
    const WaitingVfs vfs(other);
    const bool waits = GENERATE(false, true);
    const auto store = opened(
        folder.file(),
        {.busy_timeout = waits ? Duration(std::chrono::minutes(1)) : Duration(0), .vfs = WaitingVfs::name});
    REQUIRE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
    CHECK(put(*store, {1, 1, 2}, "y").has_value() == waits);
    CHECK(WaitingVfs::waits == (waits ? 1 : 0));
    CHECK(records_of(*store).size() == (waits ? 2 : 1));
  }
  sqlite3_close(other);
}

TEST_CASE("a file or a folder that may not be written gives an error that says so", "[store][sqlite]") {
  const StoreFolder folder;
  put(*opened(folder.file()), {1, 1, 1}, "x").value();
  const bool whole_folder = GENERATE(false, true);
  CAPTURE(whole_folder);
  const std::string path = folder.file(whole_folder ? "new.db" : "agents.db");
  const std::string parent = std::filesystem::path(path).parent_path();
  REQUIRE(::chmod(folder.file().c_str(), 0444) == 0);
  REQUIRE(::chmod(parent.c_str(), 0555) == 0);
  const pid_t child = ::fork();
  if (child == 0) {  // root may write everything
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    const auto store = SqliteStore::open(path);
    const bool is_named = !store && store.error().code == Errc::store_read_only &&
                          says(store.error(), "give this process the right to write");
    ::_exit(is_named ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(::chmod(parent.c_str(), 0700) == 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a path that names no file is refused", "[store][sqlite]") {
  const StoreFolder folder;
  const bool read_only = GENERATE(false, true);
  std::filesystem::create_directory(folder.file("folder"));
  const Error is_folder = refusal(folder.file("folder"), {.read_only = read_only});
  CHECK(is_folder.code == Errc::store_unavailable);
  CHECK(says(is_folder, folder.file("folder") + " is a folder"));
  CHECK_FALSE(std::filesystem::exists(folder.file("folder-lock")));
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  CHECK(says(refusal(folder.file("pipe"), {.read_only = read_only}), "is not a file"));
  const Error missing = refusal(folder.file("no/such/folder.db"), {.read_only = read_only});
  CHECK(missing.code == Errc::store_unavailable);
  CHECK(says(missing, "No such file or directory"));
  CHECK(refusal("", {.read_only = read_only}).code == Errc::invalid_config);
  CHECK(refusal(std::string("a\0b", 3), {.read_only = read_only}).code == Errc::invalid_config);
}

TEST_CASE("a file that is no store is refused and not changed", "[store][sqlite]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const auto bytes = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  SECTION("a text") {
    std::ofstream(path) << std::string(5000, 't');
    const std::string before = bytes();
    const Error error = refusal(path);
    CHECK(error.code == Errc::store_corrupt);
    CHECK(says(error, "file is not a database"));
    CHECK(bytes() == before);
  }
  SECTION("a database of another program") {
    run_sql(path, "CREATE TABLE songs (title)");
    const std::string before = bytes();
    const Error error = refusal(path);
    CHECK(error.code == Errc::store_unavailable);
    CHECK(says(error, "another program"));
    CHECK(bytes() == before);
  }
  SECTION("a store of a newer version") {
    put(*opened(path), {1, 1, 1}, "x").value();
    const std::string version = std::to_string(detail::store::newest_version + GENERATE(1, 97));
    run_sql(path, "PRAGMA user_version = " + version);
    const std::string before = bytes();
    for (const bool read_only : {false, true}) {
      const Error error = refusal(path, {.read_only = read_only});
      CHECK(error.code == Errc::store_newer);
      CHECK(says(error, "(" + version + ";"));
    }
    CHECK(bytes() == before);
  }
  SECTION("an empty file, for a reader") {
    std::ofstream(path).flush();
    CHECK(refusal(path, {.read_only = true}).code == Errc::store_unavailable);
    CHECK(records_of(*opened(path)).empty());
  }
}

TEST_CASE("a damaged page is found and read as an error", "[store][sqlite]") {
  const StoreFolder folder;
  {
    const auto store = opened(folder.file());
    for (std::uint64_t i = 0; i < 200; ++i) put(*store, {1, 1, i}, std::string(500, 'x')).value();
    CHECK(store->check().value().empty());
  }
  {
    std::fstream file(folder.file(), std::ios::binary | std::ios::in | std::ios::out);
    for (int page = 2; page < 12; ++page) {
      file.seekp(page * 4096);
      file << std::string(4096, '\xee');
    }
  }
  const auto store = opened(folder.file());
  const Result<void> read =
      store->read({}, RecordKey::last_of(1), [](const RecordKey&, std::string_view) { return true; });
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Errc::store_corrupt);
  CHECK(says(read.error(), folder.file()));
  const auto problems = store->check();
  CHECK((!problems || !problems->empty()));
}

TEST_CASE("a store that has reached its size refuses records until some are erased", "[store][sqlite]") {
  const StoreFolder folder;
  const auto store = opened(folder.file(), {.max_bytes = 256 * 1024});
  std::uint64_t kept = 0;
  Result<void> done;
  while (kept < 1000 && (done = put(*store, {1, 1, kept}, std::string(4000, 'x')))) ++kept;
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::store_full);
  CHECK(says(done.error(), "max_bytes"));
  CHECK(kept > 30);
  CHECK(records_of(*store).size() == kept);
  StoreBatch batch;
  batch.erase({1, 1, 0}, {1, 1, 9});
  store->commit(batch, StoreSync::process).value();
  put(*store, {1, 1, kept}, "fits again").value();
  CHECK(records_of(*store).size() == kept - 9);
}

TEST_CASE("with secure_delete no erased text is left in the files", "[store][sqlite]") {
  const StoreFolder folder;
  const std::string secret = "the text that must go away";
  const auto is_anywhere = [&] {
    for (const char* const name : {"agents.db", "agents.db-wal"}) {
      std::ifstream file(folder.file(name), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      if (bytes.find(secret) != std::string::npos) return true;
    }
    return false;
  };
  const auto store = opened(folder.file(), {.secure_delete = true});
  for (std::uint64_t i = 0; i < 100; ++i) put(*store, {1, 1, i}, secret + std::string(200, 'x')).value();
  store->compact().value();
  CHECK(is_anywhere());
  StoreBatch batch;
  batch.erase({1, 1, 0}, RecordKey::last_of(1, 1));
  store->commit(batch, StoreSync::process).value();
  store->compact().value();
  CHECK_FALSE(is_anywhere());
}

TEST_CASE("compact gives the space of erased records back", "[store][sqlite]") {
  const StoreFolder folder;
  const auto store = opened(folder.file());
  store->compact().value();
  const auto size = [&] { return std::filesystem::file_size(folder.file()); };
  const auto empty = size();
  for (std::uint64_t i = 0; i < 500; ++i) put(*store, {1, i, 1}, std::string(2000, 'x')).value();
  StoreBatch batch;
  batch.erase({}, RecordKey::last_of(1));
  store->commit(batch, StoreSync::process).value();
  store->compact().value();
  CHECK(size() == empty);
}

TEST_CASE("a copy has what was committed before, and is a store of its own", "[store][sqlite][backup]") {
  const StoreFolder folder;
  const auto store = opened(folder.file());
  put(*store, {1, 1, 1}, "one").value();
  const bool by_owner = GENERATE(true, false);
  const auto reader = by_owner ? nullptr : opened(folder.file(), {.read_only = true});
  SqliteStore& source = by_owner ? *store : *reader;
  REQUIRE(source.back_up(folder.file("first.db")));
  put(*store, {1, 1, 2}, std::string(100'000, 'x')).value();
  REQUIRE(source.back_up(folder.file("second.db")));
  const auto first = opened(folder.file("first.db")), second = opened(folder.file("second.db"));
  CHECK(records_of(*first).size() == 1);
  CHECK(records_of(*second) == records_of(*store));
  put(*first, {1, 1, 3}, "three").value();
  CHECK(records_of(*store).size() == 2);
  CHECK(second->check().value().empty());
  CHECK(second->back_up(folder.file("first.db"), {.replace = true}).error().code == Errc::store_in_use);
  CHECK(records_of(*first).size() == 2);
}

TEST_CASE("a commit that another program has begun is no obstacle for a copy, and not in it",
          "[store][sqlite][backup]") {
  const StoreFolder folder;
  const auto store = opened(folder.file());
  put(*store, {1, 1, 1}, "one").value();
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(folder.file().c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(
              other, "BEGIN IMMEDIATE; INSERT INTO records (kind, owner, number, body) VALUES (1, 1, 2, '')",
              nullptr, nullptr, nullptr) == SQLITE_OK);
  const auto reader =
      opened(folder.file(), {.read_only = true, .busy_timeout = std::chrono::milliseconds(0)});
  CHECK(reader->back_up(folder.file("copy.db")));
  CHECK(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(other);
  CHECK(records_of(*opened(folder.file("copy.db"))).size() == 1);
}

TEST_CASE("options of a store that are out of range are refused by name", "[store][sqlite]") {
  const StoreFolder folder;
  const auto refused = [&](SqliteStoreOptions options, const std::string& field) {
    const Error error = refusal(folder.file(), std::move(options));
    return error.code == Errc::invalid_config && says(error, field);
  };
  CHECK(refused({.max_bytes = 1}, "max_bytes"));
  CHECK(refused({.busy_timeout = std::chrono::seconds(-1)}, "busy_timeout"));
  CHECK(refused({.busy_timeout = std::chrono::hours(2)}, "busy_timeout"));
  CHECK(refused({.vfs = "no such VFS"}, "vfs"));
  // What is just in range is not refused: the next option is.
  constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
  CHECK(refused({.reserve_bytes = gibibyte + 1}, "reserve_bytes"));
  CHECK(refused({.max_bytes = 65'535}, "max_bytes"));
  CHECK(refused({.busy_timeout = std::chrono::hours(1) + Duration(1)}, "busy_timeout"));
  CHECK(refused({.max_bytes = 65'536,
                 .reserve_bytes = gibibyte,
                 .busy_timeout = std::chrono::hours(1),
                 .vfs = "no such VFS"},
                "vfs"));
  CHECK_FALSE(std::filesystem::exists(folder.file()));
}
