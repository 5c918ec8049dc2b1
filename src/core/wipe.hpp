// wipe: overwrites a secret, so that it is not left in freed memory.
#pragma once

#include "core/internal_api.hpp"

#include <cstddef>
#include <string>

namespace agentcore::detail::core {

// Writes zeros; the compiler does not remove these writes.
AGENTCORE_INTERNAL_API void wipe(char* bytes, std::size_t size) noexcept;

// Overwrites the whole capacity of the string, also a buffer inside the object; the string is empty then.
AGENTCORE_INTERNAL_API void wipe(std::string& text) noexcept;

}  // namespace agentcore::detail::core
