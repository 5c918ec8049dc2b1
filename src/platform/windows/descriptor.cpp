#include "platform/descriptor.hpp"

#ifdef _WIN32

#include "platform/windows/winsock.hpp"

#include <cerrno>

namespace agentcore::detail::platform {

void close_descriptor(int descriptor) noexcept {
  ::closesocket(to_socket(descriptor));
}

// Not used: an adapter to a host's loop gets an error before it comes to this.
int duplicate_descriptor(int /*descriptor*/) noexcept {
  errno = ENOSYS;
  return -1;
}

}  // namespace agentcore::detail::platform

#endif
