// For systems without epoll.
#include "platform/poller.hpp"

#ifndef __linux__

#include <cerrno>

namespace agentcore::detail::platform {

std::unique_ptr<Poller> make_epoll_poller() {
  errno = ENOSYS;
  return nullptr;
}

}  // namespace agentcore::detail::platform

#endif
