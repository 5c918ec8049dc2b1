// UrgentChanges: what of a batch a store that is full still takes.
#pragma once

#include "core/node.hpp"
#include "persist/read_range.hpp"

#include <agentcore/error.hpp>
#include <agentcore/store.hpp>

#include <unordered_set>
#include <vector>

namespace agentcore::detail::persist {

// A batch that has failed because the store is full may have more than the store has room for, whatever the
// host deletes. What must not wait for room is taken out of it: closed gates (stops, deletes, pauses, holds),
// revoked permissions, and what makes the store smaller (deleted agents, rewound turns).
//
// Each record that these batches write is the one that the store has, with nothing changed but that. So after
// each of them the store is one that can be restored: the agents as they were at the last commit, but
// stopped, deleted or rewound.
struct UrgentChanges {
  // To be committed one after the other. Each has few records, so that it fits into what a store keeps free
  // for it (StoreBatch::uses_reserve()).
  std::vector<StoreBatch> batches;
  // Agents of which the store has nothing yet: a stop of them is not in it either.
  std::unordered_set<core::NodeId> unwritten;
};

// `changes`: as merged() makes it. `read`: what the store has. Throws std::bad_alloc.
Result<UrgentChanges> urgent_changes(const StoreBatch& changes, const ReadRange& read);

}  // namespace agentcore::detail::persist
