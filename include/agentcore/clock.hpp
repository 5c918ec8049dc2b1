// Time, handed in: the system's steady clock, or one that a test moves by hand.
#pragma once

#include <atomic>
#include <chrono>

namespace agentcore {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::steady_clock::time_point;

// Where a Runtime reads the time. now() is @threadsafe and never goes back.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const noexcept = 0;

  // False when time passes only by hand: the loop then never sleeps for a timer.
  virtual bool runs_by_itself() const noexcept { return true; }
};

// std::chrono::steady_clock. The default of every Runtime.
class SystemClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
};

// A clock for tests and simulations. Runtime::run_for() moves it from timer to timer, so that an hour of
// time-outs runs in no time and always in the same order.
class ManualClock final : public Clock {
 public:
  TimePoint now() const noexcept override {
    return TimePoint(Duration(nanoseconds_.load(std::memory_order_acquire)));
  }
  bool runs_by_itself() const noexcept override { return false; }

  // @threadsafe. Moves forward by `step` (not negative).
  void advance(Duration step) noexcept { nanoseconds_.fetch_add(step.count(), std::memory_order_acq_rel); }

 private:
  std::atomic<Duration::rep> nanoseconds_{0};
};

}  // namespace agentcore
