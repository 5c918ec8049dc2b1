// run_sql: another program that writes the file of a store.
#pragma once

#include "support/catch.hpp"

#include <string>

#include <sqlite3.h>

namespace agentcore::test {

inline void run_sql(const std::string& path, const char* sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

}  // namespace agentcore::test
