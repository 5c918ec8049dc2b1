// Arithmetic on time points that does not overflow, and deadlines that outlive the process.
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

// A deadline that outlives the process. The clock of a Runtime has no meaning in another one.
struct WallDeadline {
  WallTime when{};
  // What was left of it when it was written. The clock may be set back until it is read: then no more than
  // this is left.
  Duration left = Duration::max();

  bool operator==(const WallDeadline&) const = default;
};

// `deadline` by the wall clock. At most the end of its time, which is in the year 2262.
inline WallDeadline wall_deadline(TimePoint deadline, const Clock& clock) noexcept {
  const TimePoint now = clock.now();
  const Duration left = deadline > now ? later(TimePoint(), deadline - now).time_since_epoch() : Duration(0);
  const WallTime wall = clock.wall_time();
  const auto room = std::chrono::duration_cast<Duration>(WallTime::max() - std::max(wall, WallTime()));
  return {wall + std::chrono::duration_cast<WallTime::duration>(std::min(left, room)), left};
}

// The same by the clock of a later run.
inline TimePoint restored_deadline(const WallDeadline& deadline, const Clock& clock) noexcept {
  const WallTime wall = std::max(clock.wall_time(), WallTime());
  const Duration left =
      deadline.when > wall ? std::chrono::duration_cast<Duration>(deadline.when - wall) : Duration(0);
  return later(clock.now(), std::min(left, std::max(deadline.left, Duration(0))));
}

}  // namespace agentcore::detail::loop
