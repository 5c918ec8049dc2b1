#include "platform/boot_timer.hpp"

#ifdef _WIN32

#include <cerrno>

namespace agentcore::detail::platform {

// The performance counter, which is behind steady_clock, counts while the machine sleeps.
TimePoint boot_time() noexcept {
  return std::chrono::steady_clock::now();
}

bool BootTimer::open() noexcept {
  errno = ENOSYS;
  return false;
}
void BootTimer::close() noexcept {
}
void BootTimer::arm(TimePoint /*next*/) noexcept {
}
void BootTimer::clear() noexcept {
}

}  // namespace agentcore::detail::platform

#endif
