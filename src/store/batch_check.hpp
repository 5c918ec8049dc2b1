// What every store checks before it makes the changes of a batch.
#pragma once

#include <agentcore/store.hpp>

#include <optional>

namespace agentcore::detail::store {

// Why the batch cannot be committed to any store; nothing if it can.
std::optional<Error> problem_of(const StoreBatch& batch);

}  // namespace agentcore::detail::store
