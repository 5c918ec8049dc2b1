// OwnedRecords: which records of a store belong to an agent, and which to none.
#pragma once

#include "core/internal_api.hpp"
#include "persist/agent_record.hpp"
#include "persist/read_range.hpp"

#include <agentcore/error.hpp>
#include <agentcore/store.hpp>

#include <cstdint>
#include <vector>

namespace agentcore::detail::persist {

// Records of a conversation that no agent has: the numbers `first` to `last` of a segment.
struct UnownedRecords {
  std::uint64_t segment = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  bool operator==(const UnownedRecords&) const = default;
};

// Invariant of a store (G13): each record of a conversation is in a piece of some agent. A file that breaks
// it was written by a version with a fault, or by hand: nothing reads these records, and without a sweep they
// stay for ever.
class AGENTCORE_INTERNAL_API OwnedRecords {
 public:
  void add(const std::vector<Piece>& history);

  // Segments of which no agent has a record. One read for each gap between the numbers of the segments that
  // agents have: nothing that belongs to an agent is read.
  Result<std::vector<UnownedRecords>> unowned_segments(const ReadRange& read);
  // The same, with the records that no agent has in a segment of which agents have others. One read for each
  // piece of a conversation.
  Result<std::vector<UnownedRecords>> unowned_records(const ReadRange& read);

 private:
  void sort();

  std::vector<Piece> pieces_;
};

}  // namespace agentcore::detail::persist
