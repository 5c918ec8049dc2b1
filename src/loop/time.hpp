// Arithmetic on time points that does not overflow.
#pragma once

#include <agentcore/clock.hpp>

#include <algorithm>
#include <chrono>

namespace agentcore::detail::loop {

// While the system has no descriptor left for the loop, the loop polls this often for what would otherwise
// wake it, and tries this often to open the descriptor.
inline constexpr Duration retry_after = std::chrono::milliseconds(10);

// `start` plus `delay`, at most the end of time. A negative delay counts as none.
inline TimePoint later(TimePoint start, Duration delay) noexcept {
  delay = std::max(delay, Duration(0));
  if (start.time_since_epoch() > Duration::max() - delay) return TimePoint::max();
  return start + delay;
}

}  // namespace agentcore::detail::loop
