// Limits the nesting of received JSON: parsing and freeing it takes stack for each level.
#pragma once

#include "core/internal_api.hpp"

#include <cstddef>
#include <string_view>

namespace agentcore::detail::core {

inline constexpr std::size_t max_json_depth = 64;

// The deepest nesting of a JSON text. The part after an error does not matter: parsing will fail.
AGENTCORE_INTERNAL_API std::size_t json_depth(std::string_view text) noexcept;

}  // namespace agentcore::detail::core
