// SqliteStore: a Store in one SQLite file. Link agentcore::store.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace agentcore {

/// How SqliteStore::open() opens a file.
struct SqliteStoreOptions {
  /// True: the file must exist, is only read, and may be in use by another process that writes it. Each read
  /// sees what was committed before it.
  bool read_only = false;
  /// True: what is erased is overwritten with zeros, also in the file. Costs more writing. Pages that changed
  /// stay in the write-ahead log until the next checkpoint; compact() makes one.
  bool secure_delete = false;
  /// The largest size of the file in bytes, without its write-ahead log; rounded down to pages of 4 KiB.
  /// A commit that needs more is refused with `store_full`. 0: no limit.
  std::uint64_t max_bytes = 0;
  /// What is kept free for stops, deletes and what makes the store smaller (StoreBatch::uses_reserve()), in
  /// bytes: below `max_bytes`, of which at most a quarter, and on the disk in a file with "-reserve" at the
  /// end of its name, which gives its space back when the disk is full. 0: nothing. At most 1 GiB.
  std::uint64_t reserve_bytes = std::uint64_t{1} << 20;
  /// How long a call waits for another process that holds a lock of the file for a moment (a reader that
  /// recovers it, a backup). 0 to 1 hour.
  Duration busy_timeout = std::chrono::seconds(2);
  /// The name of a VFS that the host has registered with SQLite, e.g. one that encrypts. Empty: SQLite's own.
  std::string vfs = {};
};

/// How SqliteStore::back_up() makes a copy.
struct SqliteBackupOptions {
  /// True: a file that the path names is replaced when the copy is complete, unless a store writes it.
  bool replace = false;
};

/// Keeps records in one SQLite file, with a write-ahead log ("-wal" and "-shm" beside the file while it is
/// open).
///
/// One process writes a file: it holds a lock on a third file, with "-lock" at the end of its name, and on
/// the write-ahead log, from open() to the destruction. Any number may read it with
/// SqliteStoreOptions::read_only. The locks end with the process, however it ends. Use it on a local disk:
/// network file systems do not lock reliably.
///
/// If the file or its log is removed, replaced or truncated while it is open, commit(), compact() and check()
/// say so: `store_unavailable` until the file is put back, `store_corrupt` if a part is missing.
///
/// Files are created with mode 0600. Nothing in them is encrypted.
///
///     auto store = agentcore::SqliteStore::open("agents.db");
///     if (!store) {
///       std::fprintf(stderr, "%s\n", store.error().message.c_str());
///       return 1;
///     }
class AGENTCORE_API SqliteStore final : public Store {
 public:
  /// Opens the file, or creates it. `path`: UTF-8, not empty.
  ///
  /// Errors: `invalid_config` (an option is out of range; no such VFS), `store_in_use` (another store writes
  /// this file, in this process or another one), `store_unavailable` (it cannot be opened or created, e.g.
  /// because it is a directory; or it belongs to another program), `store_read_only` (the file or its folder
  /// may not be written, and read_only is not set), `store_newer` (written by a newer version of this
  /// library), `store_corrupt` (no SQLite file, or a damaged one), `store_full`, `store_failed`,
  /// `out_of_memory`. After an error nothing was changed.
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& path, SqliteStoreOptions options = {});

  /// Closes the file. What was committed is in it. May block for a checkpoint.
  ~SqliteStore() override;
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  Result<void> commit(const StoreBatch& batch, StoreSync sync) override;
  Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) override;

  /// Reads the whole file and looks for damage. Returns a text for each problem; none: it is intact. Takes
  /// time proportional to the size of the file.
  Result<std::vector<std::string>> check();
  /// Copies the store into a file, as it is after the last commit. Commits of other stores of the file go on
  /// meanwhile, and are not in the copy. `target`: UTF-8, not empty; the file is created with mode 0600, by
  /// the VFS of this store. The copy is complete and on the disk when the file gets its name; until then it
  /// is a file with "-partial-" and six letters behind the name, which stays if the process is killed.
  ///
  /// Blocks for as long as the copy takes. A host that uses the file calls this on another thread, with a
  /// store that it opens with SqliteStoreOptions::read_only: this takes no lock of the owner. The write-ahead
  /// log grows by what is committed meanwhile. A tree that is restored from the copy has the identity of the
  /// first one (ToolContext::idempotency_key()): run only one of the two.
  ///
  ///     auto store = agentcore::SqliteStore::open("agents.db", {.read_only = true});
  ///     if (store && !(*store)->back_up("backup.db")) std::puts("there is no copy");
  ///
  /// Errors: those of open() for `target`, and if it exists, `store_unavailable`; `invalid_config` if it is
  /// the file of this store. After an error there is no copy, and a file that was to be replaced is as it
  /// was.
  Result<void> back_up(const std::string& target, SqliteBackupOptions options = {});
  /// Rewrites the file without free pages, and empties the write-ahead log. Needs about twice the size of
  /// the file on the disk while it runs.
  Result<void> compact();

 private:
  struct Impl;
  static Result<std::unique_ptr<SqliteStore>> open_file(const std::string& path,
                                                        const SqliteStoreOptions& options);
  explicit SqliteStore(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentcore
