// What RouterOptions must be.
#pragma once

#include <agentcore/llm_router.hpp>

#include <optional>

namespace agentcore::llm {

// The first option that makes no sense, as an `invalid_config` that says what to change.
std::optional<Error> check_options(const RouterOptions& options);

}  // namespace agentcore::llm
