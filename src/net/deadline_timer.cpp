#include "net/deadline_timer.hpp"

#include "loop/engine.hpp"

namespace agentcore::detail::net {

DeadlineTimer::DeadlineTimer(loop::Engine& engine, const Deadlines::Limits& limits,
                             std::function<void()> on_fired)
    : engine_(engine), deadlines_(limits, engine.now()), on_fired_(std::move(on_fired)) {
}

bool DeadlineTimer::is_due() const noexcept {
  return deadlines_.due() <= engine_.now();
}

void DeadlineTimer::connecting() noexcept {
  deadlines_.connecting(engine_.now());
}

void DeadlineTimer::request_sent() {
  if (deadlines_.request_sent(engine_.now())) arm();
}

void DeadlineTimer::data_received() {
  if (deadlines_.data_received(engine_.now())) arm();
}

void DeadlineTimer::arm() {
  const TimePoint due = deadlines_.due();
  if (timer_ != 0) {
    if (timer_due_ <= due) return;  // when that timer fires, the deadlines are checked again
    cancel();
  }
  if (due == TimePoint::max()) return;
  timer_due_ = due;
  timer_ = engine_.start_timer(due, on_fired_);
}

void DeadlineTimer::cancel() {
  if (timer_ != 0) engine_.cancel_timer(std::exchange(timer_, 0));
}

}  // namespace agentcore::detail::net
