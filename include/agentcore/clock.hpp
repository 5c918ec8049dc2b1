// The time of a Runtime. A clock that a test moves: testing/manual_clock.hpp.
#pragma once

#include <agentcore/export.hpp>

#include <version>

// The clocks and durations of std::chrono. With libstdc++ 12 to 15, which keep them in a file of their own,
// calendars and streams are left out: a compiler needs a twelfth less time for agentcore.hpp.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE >= 12 && _GLIBCXX_RELEASE <= 15
#include <bits/chrono.h>
#else
#include <chrono>
#endif

namespace agentcore {

/// A time span, in nanoseconds.
using Duration = std::chrono::nanoseconds;
/// A point in time of a Clock.
using TimePoint = std::chrono::steady_clock::time_point;

/// The time of day.
using WallTime = std::chrono::system_clock::time_point;

/// The source of time of a Runtime (RuntimeOptions::clock).
class AGENTCORE_API Clock {
 public:
  /// Destroys the clock. Must not be called while a Runtime, or an object of a Runtime, still uses it.
  /// @threadsafe
  virtual ~Clock() = default;

  /// The current time. Never goes back. Any function of the library may call it, also under its locks: so it
  /// must not call into agentcore, and must not wait for a lock that a caller of agentcore may hold.
  /// @threadsafe
  virtual TimePoint now() const noexcept = 0;
  /// The time for leases (AgentLimits::lease): it passes also while the machine sleeps, so a laptop does not
  /// wake with a lease that should have run out. It has a start of its own. Never goes back. The rules of
  /// now() hold. By default that of now().
  /// @threadsafe
  virtual TimePoint boot_time() const noexcept { return now(); }
  /// The time of day, for records only (StopRecord): nothing waits for it. It may go back. By default that of
  /// the system. The rules of now() hold.
  /// @threadsafe
  virtual WallTime wall_time() const noexcept { return std::chrono::system_clock::now(); }

  /// False if the time passes only by advance(): the loop then never sleeps for a timer, but moves the clock
  /// to it.
  virtual bool runs_by_itself() const noexcept { return true; }
  /// Moves the clock forward by `step`, which is not negative, and boot_time() with it. Runtime::run_for()
  /// and run_until_idle() call it if runs_by_itself() is false. By default does nothing: then only the host
  /// moves the clock, and run_for() returns when nothing is ready.
  virtual void advance(Duration /*step*/) noexcept {}
};

/// std::chrono::steady_clock: the default clock of every Runtime. For leases: CLOCK_BOOTTIME on Linux, and on
/// other systems the clock that runs while the machine sleeps.
class AGENTCORE_API SystemClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
  TimePoint boot_time() const noexcept override;
};

}  // namespace agentcore
