// <winsock2.h>, without the macros of it that names of ours could meet.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <winsock2.h>

namespace agentcore::detail::platform {

// A socket as a descriptor, and back. Handles of Windows have 32 bits that count.
inline int to_descriptor(SOCKET socket) noexcept {
  return static_cast<int>(socket);
}
inline SOCKET to_socket(int descriptor) noexcept {
  return static_cast<SOCKET>(descriptor);
}

}  // namespace agentcore::detail::platform
