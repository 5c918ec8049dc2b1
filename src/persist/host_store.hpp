// Calls of a store of the host: what the store throws is an error, whatever its type.
#pragma once

#include "core/internal_api.hpp"
#include "core/mutex.hpp"
#include "persist/read_range.hpp"

#include <agentcore/error.hpp>
#include <agentcore/store.hpp>

namespace agentcore::detail::persist {

// Without memory the error has no text.
Result<void> commit_to(Store& store, const StoreBatch& batch,
                       StoreSync sync) noexcept AGENTCORE_RUNS_HOST_CODE;
// What `visit` throws ends the reading, and is thrown.
AGENTCORE_INTERNAL_API Result<void> read_from(Store& store, const RecordKey& first, const RecordKey& last,
                                              const VisitRecord& visit) AGENTCORE_RUNS_HOST_CODE;

// Reads a store that no tree uses. The store must live as long.
inline ReadRange ranges_of(Store& store) {
  return [&store](const RecordKey& first, const RecordKey& last, const VisitRecord& visit) {
    return read_from(store, first, last, visit);
  };
}

}  // namespace agentcore::detail::persist
