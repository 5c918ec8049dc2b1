// ManualClock: a clock that a test moves.
#pragma once

#include <agentcore/clock.hpp>

#include <atomic>

namespace agentcore::testing {

/// A clock for tests and simulations; it begins at 0. Runtime::run_for() moves it from timer to timer: an
/// hour of time-outs takes no real time and always runs in the same order.
///
///     agentcore::testing::ManualClock clock;
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
  void advance(Duration step) noexcept override {
    nanoseconds_.fetch_add(step.count(), std::memory_order_acq_rel);
  }

 private:
  std::atomic<Duration::rep> nanoseconds_{0};
};

}  // namespace agentcore::testing
