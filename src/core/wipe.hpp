// wipe: overwrites a secret, so that it is not left in freed memory.
#pragma once

#include <cstddef>
#include <string>

namespace agentcore::detail::core {

// Writes zeros; the compiler does not remove these writes.
void wipe(char* bytes, std::size_t size) noexcept;

// Overwrites the whole capacity of the string, also a buffer inside the object; the string is empty then.
void wipe(std::string& text) noexcept;

}  // namespace agentcore::detail::core
