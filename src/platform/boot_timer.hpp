// BootTimer: the clock that runs while the machine sleeps, and a descriptor that becomes readable at a time
// of it.
#pragma once

#include <agentcore/clock.hpp>

namespace agentcore::detail::platform {

// The time since a start of its own, which passes also while the machine sleeps: CLOCK_BOOTTIME on Linux, the
// clocks of macOS and Windows that run on. @threadsafe
TimePoint boot_time() noexcept;

// Linux alone: a timerfd. Elsewhere it cannot be opened, and nothing wakes the loop earlier than its other
// timers do. Invariants: those of DescriptorTimer. All functions: @loop_thread
class BootTimer {
 public:
  BootTimer() = default;
  ~BootTimer() { close(); }
  BootTimer(const BootTimer&) = delete;
  BootTimer& operator=(const BootTimer&) = delete;

  // Opens the descriptor. False when the system refused, or has no such timer: errno has the reason.
  bool open() noexcept;
  void close() noexcept;
  int descriptor() const noexcept { return descriptor_; }

  // Makes the open descriptor readable at `next`, a time of boot_time(), or earlier. No system call if it is
  // set for then, or for earlier.
  void arm(TimePoint next) noexcept;
  // The descriptor was found readable: makes it unreadable, until it is armed again.
  void clear() noexcept;

 private:
  static constexpr TimePoint unarmed = TimePoint::max();

  int descriptor_ = -1;
  TimePoint armed_at_ = unarmed;
};

}  // namespace agentcore::detail::platform
