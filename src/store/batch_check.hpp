// What every store checks before it makes the changes of a batch, and before it reads.
#pragma once

#include <agentcore/store.hpp>

#include <cstdint>
#include <optional>

namespace agentcore::detail::store {

// Why the batch cannot be committed to any store; nothing if it can.
std::optional<Error> problem_of(const StoreBatch& batch);
// Why the batch is refused by a store that keeps this epoch; nothing if it is not.
std::optional<Error> fence_of(const StoreBatch& batch, std::uint64_t kept);
// Why the range cannot be read from any store; nothing if it can.
std::optional<Error> problem_of_range(const RecordKey& first, const RecordKey& last);

}  // namespace agentcore::detail::store
