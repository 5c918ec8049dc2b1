// DeadlineTimer: the deadlines of one transfer, and the single timer for them.
#pragma once

#include "net/deadlines.hpp"

#include <agentcore/clock.hpp>

#include <cstdint>
#include <functional>
#include <utility>

namespace agentcore::detail::loop {
class Engine;
}

namespace agentcore::detail::net {

// Data only moves a deadline; when the running timer fires, it is started again for the next one.
// @loop_thread
class DeadlineTimer {
 public:
  // `on_fired` runs when the timer fires; it must call fired().
  DeadlineTimer(loop::Engine& engine, const Deadlines::Limits& limits, std::function<void()> on_fired);
  ~DeadlineTimer() = default;  // after cancel(), or without an engine
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  const Deadlines& deadlines() const noexcept { return deadlines_; }
  bool is_due() const noexcept;

  // Begins the next phase of the transfer. connecting() starts no timer: arm() does.
  void connecting() noexcept;
  void request_sent();
  void data_received();

  // Makes sure that the timer runs no later than the next deadline.
  void arm();
  void fired() noexcept { timer_ = 0; }
  void cancel();

 private:
  loop::Engine& engine_;
  Deadlines deadlines_;
  std::uint64_t timer_ = 0;  // 0: no timer runs
  TimePoint timer_due_{};    // when the running timer fires
  const std::function<void()> on_fired_;
};

}  // namespace agentcore::detail::net
