// Driving the loop and waiting: run_for(), run_until_idle(), and what a foreign loop needs.
#include "loop/engine.hpp"
#include "loop/time.hpp"

#include <algorithm>
#include <cassert>

namespace agentcore::loop {

namespace {

// Without a descriptor for wake-ups a sleeping loop cannot hear other threads; it looks this often then, and
// tries again to open one.
constexpr Duration deaf_wait = std::chrono::milliseconds(10);

// A clock that is moved by hand stands still while something is ready. It moves on all the same after so many
// polls in a row that left something ready, a poll full of steps counted as ten: there is work that never
// ends.
constexpr std::uint32_t polls_at_one_time = 1000;
constexpr std::uint32_t steps_like_a_poll = 6554;

// Null when the clock cannot be moved from here.
ManualClock* manual(const Clock& clock) noexcept {
  // The options take a const Clock because nothing else in the library may change it. A ManualClock is made
  // to be moved, by its host or by run_for() in its place, so it is never a const object.
  return const_cast<ManualClock*>(dynamic_cast<const ManualClock*>(&clock));
}

}  // namespace

void Engine::run_for(Duration duration) {
  if (in_poll_ || calling_ != 0 || closed_) return;
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

// To the first timer that is not due yet, at most to `end`.
void Engine::move_clock(ManualClock& clock, TimePoint end) {
  const TimePoint start = now();
  clock.advance(std::min(timers_.next_after(start).value_or(end), end) - start);
}

bool Engine::run_until_idle(Duration limit) {
  if (in_poll_ || calling_ != 0 || closed_) return false;
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
    if (clock != nullptr && busy >= polls_at_one_time) move_clock(*clock, end);
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
  const bool hears = ensure_open();
  ready_.clear();
  next_ready_ = 0;
  poller_->wait(hears ? at_most : std::min(at_most, deaf_wait), ready_);
}

bool Engine::ensure_open() {
  if (!poller_) poller_ = make_poller(backend_);
  if (wake_watched_) return true;
  const int descriptor = waker_->open(poller_->descriptor() < 0);
  wake_watched_ = descriptor >= 0 && poller_->watch_wake(descriptor);
  return wake_watched_;
}

int Engine::poll_descriptor() {
  assert(on_loop_thread());
  if (closed_ || !ensure_open()) return -1;
  return poller_->descriptor() >= 0 ? poller_->descriptor() : waker_->open(true);
}

std::optional<TimePoint> Engine::next_deadline() const {
  if (closed_) return std::nullopt;
  if (has_ready()) return now();
  return timers_.next();
}

}  // namespace agentcore::loop
