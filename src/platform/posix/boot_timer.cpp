#include "platform/boot_timer.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>

#include <unistd.h>

#ifdef __linux__
#include <sys/timerfd.h>
#endif

namespace agentcore::detail::platform {

TimePoint boot_time() noexcept {
#ifdef __linux__
  constexpr clockid_t clock = CLOCK_BOOTTIME;
#else
  constexpr clockid_t clock = CLOCK_MONOTONIC;  // of macOS: it runs while the machine sleeps
#endif
  timespec now{};
  ::clock_gettime(clock, &now);  // fails for invalid arguments only
  return TimePoint(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

void BootTimer::close() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  armed_at_ = unarmed;
}

#ifdef __linux__

bool BootTimer::open() noexcept {
  if (descriptor_ < 0) descriptor_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  return descriptor_ >= 0;
}

void BootTimer::arm(TimePoint next) noexcept {
  if (armed_at_ <= next) return;
  const Duration at = std::max(next.time_since_epoch(), Duration(1));  // 0 would disarm the timer
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
  itimerspec setting{};
  setting.it_value.tv_sec = static_cast<std::time_t>(seconds.count());
  setting.it_value.tv_nsec = static_cast<long>((at - seconds).count());
  ::timerfd_settime(descriptor_, TFD_TIMER_ABSTIME, &setting, nullptr);  // fails for invalid arguments only
  armed_at_ = next;
}

void BootTimer::clear() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read = ::read(descriptor_, &count, sizeof count);
  armed_at_ = unarmed;
}

#else

bool BootTimer::open() noexcept {
  errno = ENOSYS;
  return false;
}
void BootTimer::arm(TimePoint /*next*/) noexcept {
}
void BootTimer::clear() noexcept {
}

#endif

}  // namespace agentcore::detail::platform
