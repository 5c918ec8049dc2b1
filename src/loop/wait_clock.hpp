// WaitClock: a time limit that stands still while its agent is paused.
#pragma once

#include "loop/engine.hpp"
#include "loop/time.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/no_limit.hpp>
#include <agentcore/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace agentcore::detail::loop {

// Without a limit it never ends. Runs, or stands, from the first call of run() or stand() on. @loop_thread
class WaitClock {
 public:
  WaitClock() = default;
  explicit WaitClock(Duration limit) noexcept : left_(limit) {}

  bool is_limited() const noexcept { return left_ != no_limit; }
  bool is_running() const noexcept { return running_; }
  // Calls `at_end` when the rest of the time is over, unless the clock is stopped or destroyed before. Throws
  // std::bad_alloc.
  void run(Engine& engine, std::function<void()> at_end) {
    if (running_ || !is_limited()) return;
    end_ = later(engine.now(), left_);
    timer_ = Timer(engine.weak_from_this(), engine.start_timer(end_, std::move(at_end)));
    running_ = true;
  }
  void stand(const Engine& engine) noexcept {
    if (!std::exchange(running_, false)) return;
    left_ = std::max(end_ - engine.now(), Duration::zero());
    timer_ = {};
  }

 private:
  Duration left_ = no_limit;  // while it stands
  TimePoint end_{};           // while it runs
  Timer timer_;
  bool running_ = false;
};

}  // namespace agentcore::detail::loop
