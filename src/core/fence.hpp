// Models write JSON into Markdown code fences although the request forbids it.
#pragma once

#include "core/internal_api.hpp"

#include <string_view>

namespace agentcore::detail::core {

// The content of the code fence if `text` is nothing but one code fence of JSON, without the blanks around
// it: "```json\n{}\n```" is "{}". Otherwise `text` as it is.
AGENTCORE_INTERNAL_API std::string_view without_fence(std::string_view text) noexcept;

}  // namespace agentcore::detail::core
