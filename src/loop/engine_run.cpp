// Driving the loop and waiting: run_for(), run_until_idle(), and what a foreign loop needs.
#include "loop/engine.hpp"
#include "loop/time.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::loop {

namespace {

// A ManualClock stands still while something is ready. After so many polls in a row that left something
// ready, the work is taken to be endless, and the clock moves on. A poll full of steps counts as about a
// thousand polls.
constexpr std::uint32_t polls_at_one_time = 100'000;
constexpr std::uint32_t steps_like_a_poll = 66;

// Null when the clock is no ManualClock.
ManualClock* manual(const Clock& clock) noexcept {
  // The options take a const Clock because nothing else in the library may change it. A ManualClock is made
  // to be moved, by its host or by run_for() in its place, so it is never a const object.
  return const_cast<ManualClock*>(dynamic_cast<const ManualClock*>(&clock));
}

}  // namespace

void Engine::run_for(Duration duration) {
  if (refuses()) return;
  const auto self = shared_from_this();
  const TimePoint end = later(now(), duration);
  if (!clock_->runs_by_itself()) return run_by_hand(end);
  for (;;) {
    const bool more = poll();
    if (closed_ || now() >= end) return;
    if (!more) wait_until(end);
  }
}

void Engine::run_by_hand(TimePoint end) {
  ManualClock* const clock = manual(*clock_);
  for (std::uint32_t busy = 0;;) {
    busy = poll() ? busy + 1 + steps_ / steps_like_a_poll : 0;
    if (busy > 0 && busy < polls_at_one_time) continue;
    if (closed_ || clock == nullptr || now() >= end) return;
    move_clock(*clock, end);
  }
}

// Moves the clock to the first timer that is not due yet, at most to `end`.
void Engine::move_clock(ManualClock& clock, TimePoint end) {
  const TimePoint start = now();
  clock.advance(std::min(timers_.next_after(start).value_or(end), end) - start);
}

bool Engine::run_until_idle(Duration limit) {
  if (refuses()) return false;
  const auto self = shared_from_this();
  const TimePoint end = later(now(), limit);
  // A clock that is moved by hand says nothing about how long the world may take.
  const TimePoint real_end = clock_->runs_by_itself() ? TimePoint::max() : later(system_clock_.now(), limit);
  ManualClock* const clock = manual(*clock_);
  for (std::uint32_t busy = 0;;) {
    busy = poll() ? busy + 1 + steps_ / steps_like_a_poll : 0;
    if (closed_) return false;
    if (is_idle()) return true;
    if (now() >= end || (real_end != TimePoint::max() && system_clock_.now() >= real_end)) return false;
    if (busy == 0) rest(end, real_end);
    // Without a timer the clock stays: the work may be long and still end. `real_end` bounds it.
    if (clock != nullptr && busy >= polls_at_one_time && timers_.next_after(now())) move_clock(*clock, end);
  }
}

// Nothing is ready: lets time pass up to the next timer, or waits for what other threads and descriptors
// bring.
void Engine::rest(TimePoint end, TimePoint real_end) {
  if (clock_->runs_by_itself()) return wait_until(end);
  ManualClock* const clock = manual(*clock_);
  if (clock != nullptr && !timers_.empty()) return move_clock(*clock, end);
  wait(real_end - system_clock_.now());
}

void Engine::wait_until(TimePoint end) {
  wait(std::min(timers_.next().value_or(end), end) - now());
}

void Engine::wait(Duration at_most) {
  // Not in a poll: the flag is clear, or it was set after the poll and the descriptor tells.
  ensure_open();
  if (closed_) return;  // ensure_open() called the log sink, which closed the engine
  ready_.clear();
  next_ready_ = 0;
  // Without a wake-up descriptor other threads cannot end the wait: it is short then.
  poller_->wait(wake_watched_ ? at_most : std::min(at_most, retry_after), ready_);
}

bool Engine::refuses() noexcept {
  if (closed_) return true;
  if (!in_poll_ && calling_ == 0) return false;
  if (std::exchange(silent_, true)) return true;
  // During a poll the waker is silent anyway. Outside of a poll, in an observer that create() or walk()
  // calls, it is made silent in the same way.
  if (!in_poll_) waker_->begin_poll();
  if (poller_) poller_->mute(true);
  return true;
}

void Engine::end_silence() noexcept {
  if (!std::exchange(silent_, false) || closed_) return;
  if (poller_) poller_->mute(false);
  if (in_poll_) return;
  waker_->end_poll();
  if (has_ready()) waker_->notify();
}

std::optional<TimePoint> Engine::next_deadline() const {
  if (closed_ || in_poll_ || calling_ != 0) return std::nullopt;
  if (has_ready()) return now();
  const std::optional<TimePoint> next = timers_.next();
  if (!host_asked_ || host_descriptor_ >= 0) return next;
  return std::min(next.value_or(TimePoint::max()), retry_at_);
}

}  // namespace agentcore::loop
