#include "platform/posix/descriptor_timer.hpp"

#ifdef __linux__

#include <algorithm>
#include <chrono>

#include <sys/timerfd.h>
#include <unistd.h>

namespace agentcore::detail::platform {

DescriptorTimer::~DescriptorTimer() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// CLOCK_MONOTONIC is the clock behind std::chrono::steady_clock.
bool DescriptorTimer::open() noexcept {
  if (descriptor_ < 0) descriptor_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  return descriptor_ >= 0;
}

void DescriptorTimer::arm(TimePoint next, TimePoint now) noexcept {
  if (now < armed_at_ && armed_at_ <= next) return;
  const Duration at = std::max(next.time_since_epoch(), Duration(1));  // 0 would disarm the timer
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
  itimerspec setting{};
  setting.it_value.tv_sec = static_cast<std::time_t>(seconds.count());
  setting.it_value.tv_nsec = static_cast<long>((at - seconds).count());
  // Fails for invalid arguments only. Setting the timer also removes what made the descriptor readable.
  ::timerfd_settime(descriptor_, TFD_TIMER_ABSTIME, &setting, nullptr);
  armed_at_ = next;
}

}  // namespace agentcore::detail::platform

#endif
