// The tables of a store, and how those of older versions become those of this one.
#pragma once

#include "store/sqlite/database.hpp"

#include <optional>

namespace agentcore::detail::store {

// Marks the file as one of this library (PRAGMA application_id): "agtc".
inline constexpr std::int64_t application_id = 0x61677463;
// The newest version of the tables (PRAGMA user_version). 0 is a new file.
inline constexpr std::int64_t newest_version = 2;

// Why the file cannot be used: it belongs to another program, or a newer version has written it.
std::optional<Error> problem_of(Database& database);
// Brings the tables to the newest version, in one transaction.
Result<void> migrate(Database& database);

}  // namespace agentcore::detail::store
