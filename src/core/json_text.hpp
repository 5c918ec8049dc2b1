// Text as a JSON string.
#pragma once

#include "core/internal_api.hpp"

#include <string>

namespace agentcore::detail::core {

// Invalid UTF-8 is replaced by U+FFFD. For text that is put together from strings: the destructor of a JSON
// object allocates, and its exception could not be caught. Throws std::bad_alloc.
AGENTCORE_INTERNAL_API std::string json_string(std::string text);

}  // namespace agentcore::detail::core
