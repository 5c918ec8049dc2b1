// PlainSqlite: what a program writes that uses SQLite itself. RecordingStore: the batches that it is given.
#pragma once

#include <agentcore/memory_store.hpp>
#include <agentcore/store.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <sqlite3.h>

namespace bench {

using agentcore::RecordKey;
using agentcore::StoreBatch;
using agentcore::StoreSync;

// Keeps all batches, and their records.
class RecordingStore final : public agentcore::Store {
 public:
  agentcore::Result<void> commit(const StoreBatch& batch, StoreSync sync) override {
    batches.push_back(batch);
    return records.commit(batch, sync);
  }
  agentcore::Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override {
    return records.read(first, last, visit);
  }

  agentcore::MemoryStore records;
  std::vector<StoreBatch> batches;
};

// Makes the changes of batches with prepared statements: same table, same pragmas, no checks.
class PlainSqlite {
 public:
  PlainSqlite(const std::string& path, StoreSync sync) {
    demand(sqlite3_open(path.c_str(), &database_));
    run("PRAGMA journal_mode = WAL");
    run(sync == StoreSync::disk ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    run("CREATE TABLE IF NOT EXISTS records (kind INTEGER NOT NULL, owner INTEGER NOT NULL, number INTEGER "
        "NOT NULL,"
        " body BLOB NOT NULL, PRIMARY KEY (kind, owner, number)) WITHOUT ROWID");
    begin_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
    put_ = prepare("INSERT OR REPLACE INTO records (kind, owner, number, body) VALUES (?, ?, ?, ?)");
    erase_ = prepare("DELETE FROM records WHERE (kind, owner, number) BETWEEN (?, ?, ?) AND (?, ?, ?)");
  }
  ~PlainSqlite() {
    for (sqlite3_stmt* statement : {begin_, commit_, put_, erase_}) sqlite3_finalize(statement);
    sqlite3_close(database_);
  }
  PlainSqlite(const PlainSqlite&) = delete;
  PlainSqlite& operator=(const PlainSqlite&) = delete;

  void commit(const StoreBatch& batch) {
    step(begin_);
    for (const StoreBatch::Change& change : batch.changes()) {
      sqlite3_stmt* const statement = change.body ? put_ : erase_;
      bind(statement, 1, change.first);
      if (change.body)
        sqlite3_bind_blob64(statement, 4, change.body->data(), change.body->size(), SQLITE_STATIC);
      else
        bind(statement, 4, change.last);
      step(statement);
    }
    step(commit_);
  }

  // Reads the records of some kinds; returns the bytes of their bodies.
  std::size_t read(std::initializer_list<int> kinds) {
    sqlite3_stmt* const statement =
        prepare("SELECT kind, owner, number, body FROM records WHERE kind = ? ORDER BY kind, owner, number");
    std::size_t bytes = 0;
    for (const int kind : kinds) {
      sqlite3_bind_int(statement, 1, kind);
      while (sqlite3_step(statement) == SQLITE_ROW)
        bytes += static_cast<std::size_t>(sqlite3_column_bytes(statement, 3));
      sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return bytes;
  }

 private:
  static void demand(int result, int wanted = SQLITE_OK) {
    if (result != wanted) std::abort();
  }
  void run(const char* sql) { demand(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr)); }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    demand(sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
    return statement;
  }
  static void bind(sqlite3_stmt* statement, int parameter, const RecordKey& key) {
    sqlite3_bind_int64(statement, parameter, static_cast<sqlite3_int64>(key.kind));
    sqlite3_bind_int64(statement, parameter + 1, static_cast<sqlite3_int64>(key.owner));
    sqlite3_bind_int64(statement, parameter + 2, static_cast<sqlite3_int64>(key.number));
  }
  static void step(sqlite3_stmt* statement) {
    demand(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_reset(statement);
  }

  sqlite3* database_ = nullptr;
  sqlite3_stmt *begin_ = nullptr, *commit_ = nullptr, *put_ = nullptr, *erase_ = nullptr;
};

}  // namespace bench
