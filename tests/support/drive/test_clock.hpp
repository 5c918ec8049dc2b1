// TestClock: a clock that a test moves.
#pragma once

#include <agentcore/clock.hpp>

#include <atomic>

namespace agentcore::test {

// Time passes by advance(), or by `tick` at each now(), so that a poll's budget ends after a few steps.
class TestClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return TimePoint(Duration(now_.fetch_add(tick_))); }
  TimePoint boot_time() const noexcept override { return now() + Duration(slept_.load()); }
  bool runs_by_itself() const noexcept override { return false; }
  void advance(Duration step) noexcept override { now_ += step.count(); }
  // The machine sleeps: only boot_time() passes.
  void sleep(Duration time) { slept_ += time.count(); }
  void set_tick(Duration tick) { tick_ = tick.count(); }

 private:
  mutable std::atomic<Duration::rep> now_{0};
  std::atomic<Duration::rep> tick_{0};
  std::atomic<Duration::rep> slept_{0};
};

}  // namespace agentcore::test
