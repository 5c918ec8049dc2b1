#include "store/sqlite/database.hpp"

#include <cstddef>
#include <system_error>
#include <utility>

#include <sqlite3.h>

namespace agentcore::detail::store {
namespace {

struct Reason {
  Errc code;
  const char* advice;  // what to change; "" if there is nothing to say
};

Reason reason_of(int result) noexcept {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Errc::store_in_use, "another program uses the file; close it"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Errc::store_read_only,
              "give this process the right to write the file and its folder, or open the store read-only"};
    case SQLITE_FULL:
      return {Errc::store_full,
              "free space on the disk, erase records, or raise SqliteStoreOptions::max_bytes"};
    case SQLITE_CORRUPT:
      return {Errc::store_corrupt, "restore it from a backup"};
    case SQLITE_NOTADB:
      return {Errc::store_corrupt, "give the path of another file"};
    case SQLITE_CANTOPEN:
      return {Errc::store_unavailable, "check that the path names a file in a folder that exists"};
    case SQLITE_NOMEM:
      return {Errc::out_of_memory, ""};
    case SQLITE_TOOBIG:
      return {Errc::invalid_config, "the record is larger than SQLite allows (1,000,000,000 bytes)"};
    default:
      return {Errc::store_failed, ""};
  }
}

// Of a copy: true if the file that is read has failed, and not the one that is written.
bool is_of_reader(int result) noexcept {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return true;
    default:
      return result == SQLITE_IOERR_READ || result == SQLITE_IOERR_SHORT_READ;
  }
}

}  // namespace

void CloseDatabase::operator()(sqlite3* handle) const noexcept {
  sqlite3_close_v2(handle);
}

void FinalizeStatement::operator()(sqlite3_stmt* handle) const noexcept {
  sqlite3_finalize(handle);
}

bool Statement::bind(int parameter, std::int64_t value) noexcept {
  return sqlite3_bind_int64(handle_.get(), parameter, value) == SQLITE_OK;
}

bool Statement::bind(int parameter, std::string_view bytes) noexcept {
  // A null pointer would be bound as NULL.
  const char* const begin = bytes.empty() ? "" : bytes.data();
  return sqlite3_bind_blob64(handle_.get(), parameter, begin, bytes.size(), SQLITE_STATIC) == SQLITE_OK;
}

Statement::Step Statement::step() noexcept {
  const int result = sqlite3_step(handle_.get());
  return result == SQLITE_ROW ? Step::row : result == SQLITE_DONE ? Step::done : Step::failed;
}

bool Statement::run() noexcept {
  const bool done = step() == Step::done;
  reset();
  return done;
}

void Statement::reset() noexcept {
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
}

std::int64_t Statement::integer(int column) noexcept {
  return sqlite3_column_int64(handle_.get(), column);
}

std::string_view Statement::bytes(int column) noexcept {
  const void* const begin = sqlite3_column_blob(handle_.get(), column);
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return begin ? std::string_view(static_cast<const char*>(begin), static_cast<std::size_t>(size))
               : std::string_view();
}

Result<Database> Database::open(const std::string& path, int flags, const std::string& vfs) {
  sqlite3* handle = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                      vfs.empty() ? nullptr : vfs.c_str());
  Database database(path, handle);  // there is a handle after most failures
  if (result == SQLITE_OK) return database;
  if (!handle) return Error{Errc::out_of_memory, path + ": no memory to open the file"};
  return database.error();
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* handle = nullptr;
  const int result = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (result != SQLITE_OK) return error();
  return Statement(handle);
}

bool Database::run(const char* sql) noexcept {
  return sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return statement.error();
  if (statement->step() != Statement::Step::row) return error();
  return statement->integer(0);
}

bool Database::in_transaction() const noexcept {
  return sqlite3_get_autocommit(handle_.get()) == 0;
}

void Database::set_busy_timeout(int milliseconds) noexcept {
  sqlite3_busy_timeout(handle_.get(), milliseconds);
}

std::optional<std::int64_t> Database::frames_of_log() noexcept {
  int frames = -1;
  const int result =
      sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &frames, nullptr);
  if ((result != SQLITE_OK && result != SQLITE_BUSY) || frames < 0) return std::nullopt;
  return frames;
}

// The connection that is written to has the reason, also of a failure to read.
Result<void> Database::copy_to(Database& target) {
  sqlite3_backup* const copy = sqlite3_backup_init(target.handle_.get(), "main", handle_.get(), "main");
  if (!copy) return target.error();
  static_cast<void>(sqlite3_backup_step(copy, -1));
  const int result = sqlite3_backup_finish(copy);
  if (result == SQLITE_OK) return {};
  if (!is_of_reader(result)) return target.error();
  return error_of(result, sqlite3_errstr(result));
}

Error Database::error() const {
  return error_of(sqlite3_extended_errcode(handle_.get()), sqlite3_errmsg(handle_.get()));
}

Error Database::error_of(int result, const char* what) const {
  const Reason reason = reason_of(result);
  std::string text = path_ + ": " + what;
  const int number = sqlite3_system_errno(handle_.get());
  const int kind = result & 0xff;
  if (number != 0 && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN || kind == SQLITE_FULL))
    text += " (" + std::generic_category().message(number) + ")";
  if (*reason.advice) text += std::string("; ") + reason.advice;
  return {reason.code, std::move(text)};
}

}  // namespace agentcore::detail::store
