#include "platform/descriptor.hpp"

#ifndef _WIN32

#include <fcntl.h>
#include <unistd.h>

namespace agentcore::detail::platform {

void close_descriptor(int descriptor) noexcept {
  ::close(descriptor);
}

int duplicate_descriptor(int descriptor) noexcept {
  return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

}  // namespace agentcore::detail::platform

#endif
