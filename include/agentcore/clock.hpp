// The time of a Runtime: the steady clock of the system, or a clock that a test moves.
#pragma once

#include <atomic>
#include <chrono>

namespace agentcore {

/// A time span, in nanoseconds.
using Duration = std::chrono::nanoseconds;
/// A point in time of a Clock.
using TimePoint = std::chrono::steady_clock::time_point;

/// The source of time of a Runtime (RuntimeOptions::clock).
class Clock {
 public:
  virtual ~Clock() = default;

  /// The current time. Never goes back.
  /// @threadsafe
  virtual TimePoint now() const noexcept = 0;

  /// False if the time passes only when a caller moves it: the loop then never sleeps for a timer.
  virtual bool runs_by_itself() const noexcept { return true; }
};

/// std::chrono::steady_clock: the default clock of every Runtime.
class SystemClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
};

/// A clock for tests and simulations; it begins at 0. Runtime::run_for() moves it from timer to timer: an
/// hour of time-outs takes no real time and always runs in the same order.
///
///     agentcore::ManualClock clock;
///     agentcore::Runtime runtime{{.clock = &clock}};
///     bool called = false;
///     agentcore::Timer timer = runtime.call_after(std::chrono::hours(1), [&] { called = true; });
///     runtime.run_for(std::chrono::hours(1));  // returns at once; `called` is true
class ManualClock final : public Clock {
 public:
  TimePoint now() const noexcept override {
    return TimePoint(Duration(nanoseconds_.load(std::memory_order_acquire)));
  }
  bool runs_by_itself() const noexcept override { return false; }

  /// Moves the clock forward by `step`, which must not be negative.
  /// @threadsafe
  void advance(Duration step) noexcept { nanoseconds_.fetch_add(step.count(), std::memory_order_acq_rel); }

 private:
  std::atomic<Duration::rep> nanoseconds_{0};
};

}  // namespace agentcore
