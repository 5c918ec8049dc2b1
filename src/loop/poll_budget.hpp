// PollBudget: the time and the steps that a part of one poll may use.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/clock.hpp>

#include <cstdint>

namespace agentcore::detail::loop {

// Limits the time and the steps that a source has in one poll(). @loop_thread
class AGENTCORE_INTERNAL_API PollBudget {
 public:
  PollBudget(const Clock& clock, TimePoint end, std::uint32_t steps)
      : clock_(clock), end_(end), steps_(steps) {}

  // Asks for one step. False when time or steps are used up: do not take it then. The first step is always
  // granted, so that each source makes progress. The clock is read before the steps 2, 3, 5, 9, ... 65 and
  // then before every 64th, so that quick steps cost nothing and slow ones are noticed early.
  bool spend() noexcept {
    if (used_ == next_check_) return take(used_ > 0);
    ++used_;
    return true;
  }
  // The same for a step that takes some microseconds, such as a call of the system: always reads the clock.
  bool spend_slow() noexcept;
  bool exhausted() const noexcept { return exhausted_; }
  std::uint32_t used() const noexcept { return used_; }

 private:
  bool take(bool reads_clock) noexcept;
  std::uint32_t next_check() const noexcept;

  const Clock& clock_;
  TimePoint end_;
  std::uint32_t steps_;
  std::uint32_t used_ = 0;
  std::uint32_t next_check_ = 0;  // the value of used_ at which spend() reads the clock, or finds the end
  bool exhausted_ = false;
};

}  // namespace agentcore::detail::loop
