// merged: several batches as one that has the same effect.
#pragma once

#include <agentcore/store.hpp>

#include <vector>

namespace agentcore::detail::persist {

// The erased ranges come first, each once, and then the records that are left, in the order of their keys:
// what a later batch erases or writes again is not written. So the batch is what differs between the store,
// which has none of these, and the present state: it does not grow with the number of batches, and an erase
// makes it smaller. Throws std::bad_alloc.
StoreBatch merged(const std::vector<const StoreBatch*>& batches);

}  // namespace agentcore::detail::persist
