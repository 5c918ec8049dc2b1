// DescriptorTimer: a descriptor that becomes readable at a time of the system's steady clock.
#pragma once

#include <agentcore/clock.hpp>

namespace agentcore::detail::platform {

// A timerfd: Linux alone. Invariants:
// 1. While armed_at_ is a time, the descriptor becomes readable then, or is readable already.
// 2. While armed_at_ is `unarmed`, nothing makes the descriptor readable again.
// All functions: @loop_thread
class DescriptorTimer {
 public:
  DescriptorTimer() = default;
  ~DescriptorTimer();
  DescriptorTimer(const DescriptorTimer&) = delete;
  DescriptorTimer& operator=(const DescriptorTimer&) = delete;

  // Opens the descriptor. False when the system refused: errno has the reason.
  bool open() noexcept;
  int descriptor() const noexcept { return descriptor_; }

  // Makes the open descriptor readable at `next` or earlier. The timer is set only if it is not set yet, is
  // set for later than `next`, or its time has come: a deadline that is postponed, as it is with each byte of
  // an answer, costs no system call.
  void arm(TimePoint next, TimePoint now) noexcept;

  // The descriptor was found readable. The timer is unarmed now, even if its time has not quite come.
  void note_fired() noexcept { armed_at_ = unarmed; }

 private:
  static constexpr TimePoint unarmed = TimePoint::min();

  int descriptor_ = -1;
  TimePoint armed_at_ = unarmed;
};

}  // namespace agentcore::detail::platform
