#include "store/sqlite/schema.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace agentcore::detail::store {
namespace {

// The step at index N leads from version N to N + 1. Steps are only ever added.
constexpr std::array<const char*, static_cast<std::size_t>(newest_version)> steps{
    "CREATE TABLE records (kind INTEGER NOT NULL, owner INTEGER NOT NULL, number INTEGER NOT NULL,"
    " body BLOB NOT NULL, PRIMARY KEY (kind, owner, number)) WITHOUT ROWID;",
    // The epoch of the tree that writes the records: StoreBatch::epoch().
    "CREATE TABLE owner (epoch INTEGER NOT NULL); INSERT INTO owner (epoch) VALUES (0);",
};

}  // namespace

std::optional<Error> problem_of(Database& database) {
  const Result<std::int64_t> id = database.integer("PRAGMA application_id");
  if (!id) return id.error();
  const Result<std::int64_t> version = database.integer("PRAGMA user_version");
  if (!version) return version.error();
  const Result<std::int64_t> tables = database.integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables.error();
  const bool is_new = *id == 0 && *version == 0 && *tables == 0;
  if (!is_new && *id != application_id)
    return Error{Errc::store_unavailable, database.path() +
                                              ": the file is an SQLite database of another program; give the "
                                              "path of another file"};
  if (*version > newest_version)
    return Error{Errc::store_newer, database.path() +
                                        ": a newer version of agentcore has written the file (" +
                                        std::to_string(*version) + "; this one knows up to " +
                                        std::to_string(newest_version) + "); use that version"};
  return std::nullopt;
}

Result<void> migrate(Database& database) {
  const Result<std::int64_t> version = database.integer("PRAGMA user_version");
  if (!version) return version.error();
  if (*version == newest_version) return {};
  std::string sql = "BEGIN IMMEDIATE;";
  for (auto step = static_cast<std::size_t>(*version); step < steps.size(); ++step) sql += steps.at(step);
  sql += "PRAGMA application_id = " + std::to_string(application_id) +
         "; PRAGMA user_version = " + std::to_string(newest_version) + "; COMMIT;";
  if (database.run(sql.c_str())) return {};
  Error error = database.error();
  if (database.in_transaction()) static_cast<void>(database.run("ROLLBACK"));
  return error;
}

}  // namespace agentcore::detail::store
