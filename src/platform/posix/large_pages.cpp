#include "platform/large_pages.hpp"

#ifdef __linux__

#include <cstdint>

#include <sys/mman.h>

namespace agentcore::detail::platform {

void prefer_large_pages(void* memory, std::size_t bytes) noexcept {
  const std::size_t whole = bytes - bytes % large_page;
  if (whole == 0 || reinterpret_cast<std::uintptr_t>(memory) % large_page != 0) return;
  static_cast<void>(::madvise(memory, whole, MADV_HUGEPAGE));  // without them the memory works, too
}

}  // namespace agentcore::detail::platform

#endif
