#include "core/home_process.hpp"
#include "platform/posix/lock_file.hpp"
#include "store/batch_check.hpp"
#include "store/reserve_file.hpp"
#include "store/sqlite/backup.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/store_files.hpp"

#include <agentcore/sqlite_store.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

namespace agentcore {
namespace {

using detail::platform::LockFile;
using detail::store::Database;
using detail::store::ReserveFile;
using detail::store::Statement;
using detail::store::StatementUse;
using detail::store::StoreFiles;

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t max_reserve = std::uint64_t{1} << 30;

std::optional<Error> invalid(const std::string& path, const SqliteStoreOptions& options) {
  const auto refuse = [](std::string text) { return Error{Errc::invalid_config, std::move(text)}; };
  if (path.empty()) return refuse("SqliteStore::open: the path is empty; name a file");
  if (path.find('\0') != std::string::npos) return refuse("SqliteStore::open: the path has a zero byte");
  if (options.busy_timeout < Duration(0) || options.busy_timeout > std::chrono::hours(1))
    return refuse("SqliteStoreOptions::busy_timeout is out of range: 0 to 1 hour");
  if (options.max_bytes != 0 && options.max_bytes < 16 * page_bytes)
    return refuse("SqliteStoreOptions::max_bytes is too small: 0, or at least 65,536");
  if (options.reserve_bytes > max_reserve)
    return refuse("SqliteStoreOptions::reserve_bytes is out of range: 0 to 1,073,741,824");
  if (!options.vfs.empty() && !sqlite3_vfs_find(options.vfs.c_str()))
    return refuse("SqliteStoreOptions::vfs: SQLite knows no VFS \"" + options.vfs +
                  "\"; register it first (sqlite3_vfs_register)");
  return std::nullopt;
}

// Creates the file with mode 0600 if it is missing; SQLite uses that mode for the files beside it, too. To be
// called with the lock of the file: to close a descriptor of a file that a connection of this process has
// open would end the locks of that connection.
void create_if_missing(const std::string& path) noexcept {
  const int created = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (created >= 0) ::close(created);
}

// A folder, a pipe or a device is no file of a store.
std::optional<Error> problem_of_file(const std::string& path, bool may_be_missing) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (may_be_missing && errno == ENOENT) return std::nullopt;
    return Error{Errc::store_unavailable, path + ": " + std::generic_category().message(errno) +
                                              "; check that the path names a file in a folder that exists"};
  }
  if (S_ISREG(status.st_mode)) return std::nullopt;
  return Error{Errc::store_unavailable, path + (S_ISDIR(status.st_mode) ? " is a folder" : " is not a file") +
                                            "; give the path of a file"};
}

std::int64_t signed_of(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>(std::min(value, RecordKey::max));
}

// No field may be larger than RecordKey::max.
bool bind(Statement& statement, int parameter, const RecordKey& key) noexcept {
  return statement.bind(parameter, signed_of(key.kind)) &&
         statement.bind(parameter + 1, signed_of(key.owner)) &&
         statement.bind(parameter + 2, signed_of(key.number));
}

RecordKey key_of(Statement& row) noexcept {
  const auto field = [&](int column) { return static_cast<std::uint64_t>(row.integer(column)); };
  return {field(0), field(1), field(2)};
}

// Ends a transaction that was not committed, also if there is no memory for its error.
class RollBack {
 public:
  explicit RollBack(Database& database) noexcept : database_(database) {}
  ~RollBack() {
    if (database_.in_transaction()) static_cast<void>(database_.run("ROLLBACK"));
  }
  RollBack(const RollBack&) = delete;
  RollBack& operator=(const RollBack&) = delete;

 private:
  Database& database_;
};

using Changes = std::vector<const StoreBatch::Change*>;

// In an order that has the same effect, and in which SQLite needs less time: records that are written between
// two erased ranges are sorted by their keys, so that neighbours are in the same page. The last one of those
// with the same key stays the last.
Changes in_order_of_keys(const StoreBatch& batch) {
  Changes changes;
  changes.reserve(batch.changes().size());
  for (const StoreBatch::Change& change : batch.changes()) changes.push_back(&change);
  const auto is_erased = [](const StoreBatch::Change* change) { return !change->body; };
  for (auto begin = changes.begin(); begin != changes.end();) {
    const auto end = std::find_if(begin, changes.end(), is_erased);
    std::stable_sort(begin, end, [](const auto* a, const auto* b) { return a->first < b->first; });
    begin = std::find_if_not(end, changes.end(), is_erased);
  }
  return changes;
}

}  // namespace

struct SqliteStore::Impl {
  Impl(LockFile lock, Database opened, const SqliteStoreOptions& options)
      : file_lock(std::move(lock)),
        database(std::move(opened)),
        files(database.path()),
        read_only(options.read_only),
        vfs(options.vfs) {}

  const detail::core::HomeProcess home;
  LockFile file_lock;  // released after the database is closed
  // As well on the write-ahead log: whoever removes the lock file does not open the way for a second writer.
  LockFile log_lock;
  Database database;
  StoreFiles files;
  const bool read_only;
  const std::string vfs;
  std::optional<StoreSync> sync;  // what PRAGMA synchronous is set to
  std::uint64_t max_pages = 0;    // 0: no limit
  std::uint64_t spare_pages = 0;  // of these, for batches that use the reserve
  bool may_use_spare = false;     // PRAGMA max_page_count allows it
  ReserveFile reserve;
  Statement begin, commit, put, erase, read, epoch, set_epoch;

  Result<void> configure(const SqliteStoreOptions& options);
  Result<void> check_version();
  Result<void> prepare();
  Result<void> run(const char* sql);
  bool set_sync(StoreSync wanted) noexcept;
  bool set_limit(bool uses_spare);
  Result<void> lock_log();
  bool change(const StoreBatch::Change& change) noexcept;
  Result<void> begin_epoch(const StoreBatch& batch);
  Result<void> apply(const StoreBatch& batch, const Changes& changes);
  Result<void> commit_once(const StoreBatch& batch, const Changes& changes);
  bool empty_log() noexcept;
  Result<void> commit_changes(const StoreBatch& batch, const Changes& changes);
  Result<void> commit_batch(const StoreBatch& batch, StoreSync wanted);
  Error failure();
};

Result<void> SqliteStore::Impl::run(const char* sql) {
  if (database.run(sql)) return {};
  return database.error();
}

// A failure of a file that somebody has removed or truncated is no damage of a record.
Error SqliteStore::Impl::failure() {
  Error error = database.error();
  if (auto problem = files.problem(database)) return *std::move(problem);
  return error;
}

// The log exists as long as a store is open, and SQLite has no lock on it.
Result<void> SqliteStore::Impl::lock_log() {
  if (log_lock.is_on(files.log())) return {};
  Result<LockFile> acquired = LockFile::acquire_existing(files.log());
  if (!acquired) return acquired.error();
  log_lock = std::move(*acquired);
  return {};
}

Result<void> SqliteStore::Impl::configure(const SqliteStoreOptions& options) {
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(options.busy_timeout);
  database.set_busy_timeout(static_cast<int>(wait.count()));
  // The text of a view or trigger that somebody put into the file is not run.
  if (auto done = run("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON"); !done) return done;
  if (auto problem = detail::store::problem_of(database)) return *std::move(problem);
  if (read_only) return check_version();
  if (auto done = lock_log(); !done) return done;  // before something is written
  // The journal comes first: what follows is then a commit of the log, and a new file is never half written.
  Result<Statement> journal = database.prepare("PRAGMA journal_mode = WAL");
  if (!journal) return journal.error();
  if (journal->step() != Statement::Step::row) return database.error();
  const bool has_log = journal->bytes(0) == "wal";
  // The row says what is wanted: a new file is written behind it, and that may fail.
  if (journal->step() != Statement::Step::done) return database.error();
  if (!has_log)
    return Error{Errc::store_unavailable,
                 database.path() + ": SQLite has no write-ahead log here; use a local disk"};
  journal->reset();
  if (auto done = run(options.secure_delete ? "PRAGMA secure_delete = ON" : "PRAGMA secure_delete = OFF");
      !done)
    return done;
  max_pages = options.max_bytes / page_bytes;
  spare_pages = std::min(options.reserve_bytes / page_bytes, max_pages / 4);
  may_use_spare = true;
  if (!set_limit(false)) return database.error();
  if (auto done = detail::store::migrate(database); !done) return done;
  if (auto done = lock_log(); !done) return done;  // this store may have made it
  files.note();
  return {};
}

bool SqliteStore::Impl::set_limit(bool uses_spare) {
  if (max_pages == 0 || uses_spare == may_use_spare) return true;
  const std::uint64_t pages = uses_spare ? max_pages : max_pages - spare_pages;
  const std::string sql = "PRAGMA max_page_count = " + std::to_string(signed_of(pages));
  if (!database.run(sql.c_str())) return false;
  may_use_spare = uses_spare;
  return true;
}

// A reader cannot bring the tables to the newest version.
Result<void> SqliteStore::Impl::check_version() {
  const Result<std::int64_t> version = database.integer("PRAGMA user_version");
  if (!version) return version.error();
  if (*version == detail::store::newest_version) return {};
  return Error{Errc::store_unavailable,
               database.path() +
                   ": the file has no records yet, or an older version of agentcore has written "
                   "it; open it once without read_only"};
}

Result<void> SqliteStore::Impl::prepare() {
  const auto make = [this](Statement& statement, const char* sql) -> bool {
    Result<Statement> made = database.prepare(sql);
    if (made) statement = std::move(*made);
    return made.has_value();
  };
  const bool done =
      make(begin, "BEGIN IMMEDIATE") && make(commit, "COMMIT") &&
      make(put, "INSERT OR REPLACE INTO records (kind, owner, number, body) VALUES (?, ?, ?, ?)") &&
      make(erase, "DELETE FROM records WHERE (kind, owner, number) BETWEEN (?, ?, ?) AND (?, ?, ?)") &&
      make(read,
           "SELECT kind, owner, number, body FROM records WHERE (kind, owner, number) "
           "BETWEEN (?, ?, ?) AND (?, ?, ?) ORDER BY kind, owner, number") &&
      make(epoch, "SELECT epoch FROM owner") && make(set_epoch, "UPDATE owner SET epoch = ?");
  if (done) return {};
  return database.error();
}

bool SqliteStore::Impl::set_sync(StoreSync wanted) noexcept {
  if (sync == wanted) return true;
  // NORMAL: the log is written, and flushed only at a checkpoint. FULL: flushed at each commit.
  const char* const sql =
      wanted == StoreSync::disk ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL";
  if (!database.run(sql)) return false;
  sync = wanted;
  return true;
}

bool SqliteStore::Impl::change(const StoreBatch::Change& change) noexcept {
  Statement& statement = change.body ? put : erase;
  const StatementUse use(statement);
  const bool bound =
      bind(statement, 1, change.first) &&
      (change.body ? statement.bind(4, std::string_view(*change.body)) : bind(statement, 4, change.last));
  return bound && statement.step() == Statement::Step::done;
}

// The batch is of the owner that the store has, or of a new one.
Result<void> SqliteStore::Impl::begin_epoch(const StoreBatch& batch) {
  if (batch.epoch() == 0) return {};
  std::int64_t kept = 0;
  {
    const StatementUse use(epoch);
    if (epoch.step() != Statement::Step::row) return failure();
    kept = epoch.integer(0);
  }
  if (auto fence = detail::store::fence_of(batch, static_cast<std::uint64_t>(kept)))
    return Error{fence->code, database.path() + ": " + fence->message};
  if (!batch.begins_epoch()) return {};
  if (!set_epoch.bind(1, signed_of(batch.epoch())) || !set_epoch.run()) return failure();
  return {};
}

Result<void> SqliteStore::Impl::apply(const StoreBatch& batch, const Changes& changes) {
  if (!begin.run()) return failure();
  if (auto done = begin_epoch(batch); !done) return done;
  for (const StoreBatch::Change* const one : changes)
    if (!change(*one)) return failure();
  if (!commit.run()) return failure();
  return {};
}

Result<void> SqliteStore::Impl::commit_once(const StoreBatch& batch, const Changes& changes) {
  const RollBack transaction(database);
  return apply(batch, changes);
}

// Gives the disk the space of the log, which may be as large as the records that it has. They go into the
// database first, which may need the reserve for a moment. False: it could not be done.
bool SqliteStore::Impl::empty_log() noexcept {
  const bool was_held = reserve.is_held();
  reserve.release();
  const bool done = database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  if (was_held) reserve.hold();
  return done && was_held == reserve.is_held();
}

// A batch that uses the reserve gets it when there is no other space. At last the log is emptied: after a
// crash SQLite would go on behind what it finds there.
Result<void> SqliteStore::Impl::commit_changes(const StoreBatch& batch, const Changes& changes) {
  if (!set_limit(batch.uses_reserve())) return failure();
  const auto is_full = [](const Result<void>& done) {
    return !done && done.error().code == Errc::store_full;
  };
  Result<void> done = commit_once(batch, changes);
  if (is_full(done) && batch.uses_reserve() && reserve.is_held()) {
    reserve.release();
    done = commit_once(batch, changes);
  }
  if (is_full(done) && empty_log()) done = commit_once(batch, changes);
  return done;
}

// What is written into a removed file is lost, and SQLite does not notice: the files are looked at before,
// because a log that was truncated must not grow again, and after.
Result<void> SqliteStore::Impl::commit_batch(const StoreBatch& batch, StoreSync wanted) {
  const Changes changes = in_order_of_keys(batch);
  if (auto problem = files.problem(database)) return *std::move(problem);
  if (!set_sync(wanted)) return failure();
  if (auto done = commit_changes(batch, changes); !done) return done;
  if (auto problem = files.problem(database)) return *std::move(problem);
  // The next batch that uses the reserve finds the space of the log that this one has used.
  if (batch.uses_reserve())
    static_cast<void>(database.run("PRAGMA wal_checkpoint(PASSIVE)"));
  else
    reserve.hold();
  files.note();
  return {};
}

SqliteStore::SqliteStore(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {
}

// A forked child leaves the file to its parent.
SqliteStore::~SqliteStore() {
  if (impl_ && impl_->home.is_left()) static_cast<void>(impl_.release());
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path, SqliteStoreOptions options) {
  try {
    return open_file(path, options);
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "no memory to open the store"};
  }
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open_file(const std::string& path,
                                                            const SqliteStoreOptions& options) {
  if (auto problem = invalid(path, options)) return *std::move(problem);
  // Before a lock file is created beside it.
  if (auto problem = problem_of_file(path, !options.read_only)) return *std::move(problem);
  LockFile lock;
  if (!options.read_only) {
    Result<LockFile> acquired = LockFile::acquire(path + "-lock");
    if (!acquired) return acquired.error();
    lock = std::move(*acquired);
    create_if_missing(path);
  }
  if (auto problem = problem_of_file(path, false)) return *std::move(problem);
  const int flags = options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  Result<Database> database = Database::open(path, flags, options.vfs);
  if (!database) return database.error();
  auto impl = std::make_unique<Impl>(std::move(lock), std::move(*database), options);
  if (auto done = impl->configure(options); !done) return done.error();
  if (auto done = impl->prepare(); !done) return done.error();
  if (!options.read_only && options.reserve_bytes != 0)
    impl->reserve = ReserveFile(path + "-reserve", options.reserve_bytes);
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
}

Result<void> SqliteStore::commit(const StoreBatch& batch, StoreSync sync) {
  Impl& impl = *impl_;
  if (impl.read_only)
    return Error{Errc::store_read_only, impl.database.path() + ": the store was opened read-only"};
  if (auto problem = detail::store::problem_of(batch)) return *std::move(problem);
  try {
    return impl.commit_batch(batch, sync);
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, impl.database.path() + ": no memory to commit a batch"};
  }
}

Result<void> SqliteStore::read(const RecordKey& first, const RecordKey& last, const Visit& visit) {
  if (auto problem = detail::store::problem_of_range(first, last)) return *std::move(problem);
  Statement& row = impl_->read;
  const StatementUse use(row);
  if (!bind(row, 1, first) || !bind(row, 4, last)) return impl_->database.error();
  for (;;) {
    const Statement::Step step = row.step();
    if (step == Statement::Step::failed) return impl_->failure();
    if (step == Statement::Step::done || !visit(key_of(row), row.bytes(3))) return {};
  }
}

Result<std::vector<std::string>> SqliteStore::check() {
  Result<Statement> statement = impl_->database.prepare("PRAGMA integrity_check");
  if (!statement) return statement.error();
  std::vector<std::string> problems;
  if (auto problem = impl_->files.problem(impl_->database)) problems.push_back(std::move(problem->message));
  for (;;) {
    const Statement::Step step = statement->step();
    if (step == Statement::Step::failed) return impl_->database.error();
    if (step == Statement::Step::done) return problems;
    if (std::string text(statement->bytes(0)); text != "ok") problems.push_back(std::move(text));
  }
}

Result<void> SqliteStore::back_up(const std::string& target, SqliteBackupOptions options) {
  Impl& impl = *impl_;
  try {
    if (auto problem = impl.files.problem(impl.database)) return *std::move(problem);
    return detail::store::back_up(impl.database, target, options, impl.vfs);
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, impl.database.path() + ": no memory to copy the store"};
  }
}

Result<void> SqliteStore::compact() {
  if (impl_->read_only)
    return Error{Errc::store_read_only, impl_->database.path() + ": the store was opened read-only"};
  if (auto problem = impl_->files.problem(impl_->database)) return *std::move(problem);
  auto done = impl_->run("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  if (!impl_->files.problem(impl_->database)) impl_->files.note();
  return done;
}

}  // namespace agentcore
