#include "net/socket_guard.hpp"

#include <algorithm>

#include <sys/socket.h>

namespace agentcore::detail::net {

// core::Mutex::lock() throws only for a programming error (a deadlock of one thread with itself), so noexcept
// is correct here: no function calls out while it holds the lock.

bool SocketGuard::claim(int descriptor) noexcept {
  const core::Lock lock(mutex_);
  if (shut_.load(std::memory_order_relaxed)) {
    ::shutdown(descriptor, SHUT_RDWR);
    return false;
  }
  if (std::find(claimed_.begin(), claimed_.end(), descriptor) != claimed_.end()) return true;
  const auto free = std::find(claimed_.begin(), claimed_.end(), none);
  if (free != claimed_.end()) *free = descriptor;
  return true;
}

void SocketGuard::release(int descriptor) noexcept {
  const core::Lock lock(mutex_);
  std::replace(claimed_.begin(), claimed_.end(), descriptor, int{none});
}

bool SocketGuard::shut() noexcept {
  const core::Lock lock(mutex_);
  if (shut_.load(std::memory_order_relaxed)) return false;
  shut_.store(true, std::memory_order_release);
  if (home_.is_left()) return true;  // a forked child shares the sockets with its parent, whose they are
  for (const int descriptor : claimed_)
    if (descriptor != none) ::shutdown(descriptor, SHUT_RDWR);
  return true;
}

}  // namespace agentcore::detail::net
