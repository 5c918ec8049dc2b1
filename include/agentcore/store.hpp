// Store: where records are kept. Record, RecordKey, StoreBatch. For a store in memory see memory_store.hpp,
// for one in a file sqlite_store.hpp.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/export.hpp>

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// The key of a record. Records are ordered by `kind`, then `owner`, then `number`.
///
///     // All records of kind 3 that agent 17 owns:
///     store.read({.kind = 3, .owner = 17}, agentcore::RecordKey::last_of(3, 17), visit);
struct RecordKey {
  /// The largest value of each field: 2^63 - 1.
  static constexpr std::uint64_t max = std::numeric_limits<std::int64_t>::max();

  std::uint64_t kind = 0;    ///< What the record is about; a store gives it no meaning. 0 to RecordKey::max.
  std::uint64_t owner = 0;   ///< Whose record it is. 0 to RecordKey::max.
  std::uint64_t number = 0;  ///< Which of the owner's records of this kind it is. 0 to RecordKey::max.

  /// The last key that a record of this kind and owner can have.
  static constexpr RecordKey last_of(std::uint64_t kind, std::uint64_t owner) noexcept {
    return {kind, owner, max};
  }
  /// The last key that a record of this kind can have.
  static constexpr RecordKey last_of(std::uint64_t kind) noexcept { return {kind, max, max}; }

  friend constexpr bool operator==(const RecordKey&, const RecordKey&) noexcept = default;
  // By hand: clang-tidy 14 reports modernize-use-nullptr for a defaulted one.
  friend constexpr std::strong_ordering operator<=>(const RecordKey& a, const RecordKey& b) noexcept {
    if (a.kind != b.kind) return a.kind <=> b.kind;
    if (a.owner != b.owner) return a.owner <=> b.owner;
    return a.number <=> b.number;
  }
};

/// Changes that Store::commit() makes together, in the order in which they were added.
///
///     agentcore::StoreBatch batch;
///     batch.put({.kind = 3, .owner = 17, .number = 1}, "{\"text\":\"hello\"}");
///     batch.erase({.kind = 4, .owner = 17}, agentcore::RecordKey::last_of(4, 17));
///     if (auto done = store.commit(batch, agentcore::StoreSync::disk); !done)
///       std::fprintf(stderr, "not stored: %s\n", done.error().message.c_str());
class AGENTCORE_API StoreBatch {
 public:
  /// One change: a record that is written, or a range of records that is erased.
  struct Change {
    RecordKey first;                  ///< The key of the record, or the first key of the range.
    RecordKey last;                   ///< The last key of the range, which belongs to it; else `first`.
    std::optional<std::string> body;  ///< The bytes of the record; empty for a range that is erased.
  };

  /// Writes a record, or replaces the one that has this key. `body` is any bytes, also none.
  void put(const RecordKey& key, std::string body);
  /// Erases a record. Without such a record it does nothing.
  void erase(const RecordKey& key);
  /// Erases all records from `first` to `last`, both included. A `last` before `first` is an empty range.
  void erase(const RecordKey& first, const RecordKey& last);

  /// The changes, oldest first. Valid until the batch is changed.
  const std::vector<Change>& changes() const noexcept { return changes_; }
  /// True if there are no changes.
  bool empty() const noexcept { return changes_.empty(); }
  /// The bytes of all bodies.
  std::size_t bytes() const noexcept { return bytes_; }
  /// True: the batch closes agents, deletes, or makes the store smaller, and a store that is full must take
  /// it if it can: from space that it keeps free for such batches (SqliteStoreOptions::reserve_bytes). A tree
  /// makes such batches after a commit has failed with `store_full`; each has at most some hundred records. A
  /// store may ignore it.
  bool uses_reserve() const noexcept { return uses_reserve_; }
  /// See uses_reserve().
  void use_reserve(bool uses) noexcept { uses_reserve_ = uses; }
  /// Removes all changes and the epoch, and keeps the memory for the next ones.
  void clear() noexcept;

  /// The epoch of the tree that makes the batch: each AgentTree::restore() begins the next one, so that two
  /// trees never write one store. See Store::commit(). 0: the batch has none, and is not checked.
  std::uint64_t epoch() const noexcept { return epoch_; }
  /// True: the epoch begins with this batch. The epochs before it are over then.
  bool begins_epoch() const noexcept { return begins_epoch_; }
  /// Sets both. `epoch`: 0 to RecordKey::max.
  void set_epoch(std::uint64_t epoch, bool begins = false) noexcept {
    epoch_ = epoch;
    begins_epoch_ = begins;
  }

 private:
  std::vector<Change> changes_;
  std::size_t bytes_ = 0;
  bool uses_reserve_ = false;
  std::uint64_t epoch_ = 0;
  bool begins_epoch_ = false;
};

/// What a committed batch survives.
enum class StoreSync : std::uint8_t {
  process,  ///< the end of the process, however it ends (SIGKILL); perhaps not a loss of power
  disk,     ///< a loss of power, too: commit() returns when the disk has the batch
};

namespace detail::persist {
class OwnedStore;
}

/// Keeps records, in the order of their keys. Implement it to keep them elsewhere, e.g. in a database of the
/// host.
///
/// A store is used by one thread at a time: a call may come from any thread, but never during another call.
/// It is used by one tree at a time: AgentTree::restore() with a store of another tree returns `store_in_use`
/// until that tree or its Runtime is destroyed. A copy of a store is another store.
///
/// A function that throws has failed like one that returns `store_failed`, whatever the type of the
/// exception.
class AGENTCORE_API Store {
 public:
  /// Gets a record. False: no further record is read. It must not call functions of the store. The body is
  /// valid during the call.
  using Visit = std::function<bool(const RecordKey& key, std::string_view body)>;

  Store() noexcept = default;
  Store(const Store&) noexcept {}
  Store& operator=(const Store&) noexcept { return *this; }
  virtual ~Store() = default;

  /// Makes all changes of the batch, or none. May block, e.g. for a disk. A batch may have no changes: then
  /// only its epoch is checked, and whether the store can still be written.
  ///
  /// If the batch has an epoch, it is compared with the one that the store keeps, which is 0 at first, in the
  /// same transaction as the changes. A batch that begins an epoch is refused with `store_fenced` if its
  /// epoch is not greater than that one, and replaces it. Any other batch is refused with `store_fenced` if
  /// its epoch is not that one: another tree has taken the records over. This is what keeps two processes
  /// apart on a database that both can reach. A store that ignores epochs works, but does not notice a second
  /// owner.
  ///
  /// Errors: `invalid_config` (a field of a key is larger than RecordKey::max), `out_of_memory`, and the
  /// `store_...` codes of Errc. After an error the store can be used, and has what it had before the call:
  /// commit the batch again when the cause is gone. Only if the flush to the disk has failed, and the process
  /// ends then, may the whole batch be there when the store is opened again.
  virtual Result<void> commit(const StoreBatch& batch, StoreSync sync) = 0;

  /// Calls `visit` with each record from `first` to `last`, both included, in the order of the keys. An
  /// exception of `visit` ends the reading, and is passed on.
  ///
  /// If `last` is before `first`, nothing is visited. Errors as of commit(). Records that were visited before
  /// the error are as they were stored.
  virtual Result<void> read(const RecordKey& first, const RecordKey& last, const Visit& visit) = 0;

 private:
  friend class detail::persist::OwnedStore;
  std::atomic<bool> in_use_{false};  // a tree uses it
};

}  // namespace agentcore
