// For systems that have no large pages, or choose them themselves.
#include "platform/large_pages.hpp"

#ifndef __linux__

namespace agentcore::detail::platform {

void prefer_large_pages(void* /*memory*/, std::size_t /*bytes*/) noexcept {
}

}  // namespace agentcore::detail::platform

#endif
