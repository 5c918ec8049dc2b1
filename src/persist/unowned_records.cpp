#include "persist/unowned_records.hpp"

#include "persist/record_kinds.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>

namespace agentcore::detail::persist {
namespace {

// Ends a reading: the key of the first record.
struct Found {
  RecordKey key;
};

Result<std::optional<RecordKey>> first_of(const ReadRange& read, const RecordKey& first,
                                          const RecordKey& last) {
  try {
    if (auto done = read(first, last, [](const RecordKey& key, std::string_view) { throw Found{key}; });
        !done)
      return done.error();
    return std::optional<RecordKey>();
  } catch (const Found& found) {
    return std::optional<RecordKey>(found.key);
  }
}

// Adds the segments of the records from `first` to `last`, which belong to no agent.
Result<void> add_all(const ReadRange& read, RecordKey first, const RecordKey& last,
                     std::vector<UnownedRecords>& found) {
  while (first <= last) {
    const auto next = first_of(read, first, last);
    if (!next) return next.error();
    if (!*next) return {};
    const std::uint64_t segment = (*next)->owner;
    found.push_back({segment, (*next)->number, segment == last.owner ? last.number : RecordKey::max});
    if (segment == RecordKey::max) return {};
    first = key_of(Kind::history, segment + 1);
  }
  return {};
}

}  // namespace

void OwnedRecords::add(const std::vector<Piece>& history) {
  pieces_.insert(pieces_.end(), history.begin(), history.end());
}

void OwnedRecords::sort() {
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    return std::tie(a.segment, a.first) < std::tie(b.segment, b.first);
  });
}

Result<std::vector<UnownedRecords>> OwnedRecords::unowned_segments(const ReadRange& read) {
  sort();
  std::vector<UnownedRecords> found;
  std::uint64_t next = 0;  // the first segment that was not looked at
  for (const Piece& piece : pieces_) {
    if (piece.segment > next)
      if (auto done =
              add_all(read, key_of(Kind::history, next), last_of(Kind::history, piece.segment - 1), found);
          !done)
        return done.error();
    next = std::max(next, piece.segment + 1);
  }
  if (auto done = add_all(read, key_of(Kind::history, next), last_of(Kind::history), found); !done)
    return done.error();
  return found;
}

Result<std::vector<UnownedRecords>> OwnedRecords::unowned_records(const ReadRange& read) {
  sort();
  std::vector<UnownedRecords> found;
  RecordKey next = key_of(Kind::history);
  for (const Piece& piece : pieces_) {
    const RecordKey begin = key_of(Kind::history, piece.segment, piece.first);
    const RecordKey end = key_of(Kind::history, piece.segment, piece.end());
    if (next < begin) {
      const RecordKey last = piece.first != 0 ? key_of(Kind::history, piece.segment, piece.first - 1)
                                              : last_of(Kind::history, piece.segment - 1);
      if (auto done = add_all(read, next, last, found); !done) return done.error();
    }
    next = std::max(next, end);
  }
  if (auto done = add_all(read, next, last_of(Kind::history), found); !done) return done.error();
  return found;
}

}  // namespace agentcore::detail::persist
