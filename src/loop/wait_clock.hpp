// WaitClock: a time limit that does not run while its agent is paused.
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

// Without a limit it never ends. It is halted until run() is called. @loop_thread
class WaitClock {
 public:
  WaitClock() = default;
  // Calls `at_end` when it has run for so long.
  WaitClock(Duration limit, std::function<void()> at_end) : left_(limit), at_end_(std::move(at_end)) {}

  // Throws std::bad_alloc.
  void run(Engine& engine) {
    if (running_ || left_ == no_limit) return;
    end_ = later(engine.now(), left_);
    timer_ = Timer(engine.weak_from_this(), engine.start_timer(end_, at_end_));
    running_ = true;
  }
  Duration left(const Engine& engine) const noexcept {
    return running_ ? std::max(end_ - engine.now(), Duration::zero()) : left_;
  }
  void halt(const Engine& engine) noexcept {
    if (!std::exchange(running_, false)) return;
    left_ = std::max(end_ - engine.now(), Duration::zero());
    timer_ = {};
  }

 private:
  Duration left_ = no_limit;  // while it is halted
  TimePoint end_{};           // while it runs
  std::function<void()> at_end_;
  Timer timer_;
  bool running_ = false;
};

}  // namespace agentcore::detail::loop
