// Database and Statement: an SQLite connection and its prepared statements, closed when they are destroyed.
#pragma once

#include <agentcore/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace agentcore::detail::store {

struct CloseDatabase {
  void operator()(sqlite3* handle) const noexcept;
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* handle) const noexcept;
};

// A prepared statement. Parameters count from 1, columns from 0. A function that fails returns false or
// `failed`; Database::error() then has the reason.
class Statement {
 public:
  enum class Step : std::uint8_t { row, done, failed };

  Statement() noexcept = default;
  explicit Statement(sqlite3_stmt* handle) noexcept : handle_(handle) {}

  bool bind(int parameter, std::int64_t value) noexcept;
  // `bytes` must live until reset().
  bool bind(int parameter, std::string_view bytes) noexcept;
  Step step() noexcept;
  // Runs a statement that has no rows.
  bool run() noexcept;
  // Must be called before the next use. A statement that is not reset keeps its transaction open.
  void reset() noexcept;

  std::int64_t integer(int column) noexcept;
  // Valid until the next step() or reset().
  std::string_view bytes(int column) noexcept;

 private:
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> handle_;
};

// Resets a statement at the end of a block.
class StatementUse {
 public:
  explicit StatementUse(Statement& statement) noexcept : statement_(statement) {}
  ~StatementUse() { statement_.reset(); }
  StatementUse(const StatementUse&) = delete;
  StatementUse& operator=(const StatementUse&) = delete;

 private:
  Statement& statement_;
};

// A connection. Used by one thread at a time.
class Database {
 public:
  // `flags` are those of sqlite3_open_v2(). `vfs`: "" is the default one.
  static Result<Database> open(const std::string& path, int flags, const std::string& vfs);

  Result<Statement> prepare(std::string_view sql);
  // One or more statements without rows.
  bool run(const char* sql) noexcept;
  // The integer that the statement returns.
  Result<std::int64_t> integer(std::string_view sql);
  bool in_transaction() const noexcept;
  void set_busy_timeout(int milliseconds) noexcept;
  // How many frames the write-ahead log has according to its index. Nothing: they cannot be read.
  std::optional<std::int64_t> frames_of_log() noexcept;
  // Copies all pages, as they are after the last commit, into a database that is empty. The error names the
  // file that failed.
  Result<void> copy_to(Database& target);

  // The last failure as an Error: the name of the file, what SQLite says, and what to do.
  Error error() const;
  // The same for a result of SQLite that is about this file.
  Error error_of(int result, const char* what) const;
  const std::string& path() const noexcept { return path_; }

 private:
  Database(std::string path, sqlite3* handle) noexcept : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  std::unique_ptr<sqlite3, CloseDatabase> handle_;
};

}  // namespace agentcore::detail::store
