// <winsock2.h>, without min() and max() as macros, and without what is seldom needed.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <winsock2.h>

namespace agentcore::detail::platform {

// A socket as a descriptor, and back. The casts lose nothing: Windows uses the lower 32 bits of a handle
// alone.
inline int to_descriptor(SOCKET socket) noexcept {
  return static_cast<int>(socket);
}
inline SOCKET to_socket(int descriptor) noexcept {
  return static_cast<SOCKET>(descriptor);
}

}  // namespace agentcore::detail::platform
