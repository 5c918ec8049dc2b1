// Large pages: memory of big tables, which is read in any order.
#pragma once

#include <cstddef>

namespace agentcore::detail::platform {

// The size of a large page, and the alignment of memory that shall have them.
inline constexpr std::size_t large_page = std::size_t{2} << 20;

// Asks the system for large pages for that memory, which was not touched yet: then reading it in any order
// costs less. Systems without them, and memory smaller than one of them, keep what they have. @threadsafe
void prefer_large_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace agentcore::detail::platform
