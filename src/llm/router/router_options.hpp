// The checks of RouterOptions.
#pragma once

#include <agentcore/llm_router.hpp>

#include <optional>

namespace agentcore::detail::llm {

// The first invalid option, as an `invalid_config` with the remedy.
std::optional<Error> check_options(const RouterOptions& options);

}  // namespace agentcore::detail::llm
