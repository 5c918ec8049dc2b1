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
  for (;;) {
    while (poll()) {
    }
    if (closed_ || clock == nullptr || now() >= end) return;
    clock->advance(std::min(timers_.next().value_or(end), end) - now());
  }
}

bool Engine::run_until_idle(Duration limit) {
  if (in_poll_ || calling_ != 0 || closed_) return false;
  const auto self = shared_from_this();
  const TimePoint end = later(now(), limit);
  // A clock that is moved by hand says nothing about how long the world may take.
  const TimePoint real_end = clock_->runs_by_itself() ? TimePoint::max() : later(system_clock_.now(), limit);
  for (;;) {
    const bool more = poll();
    if (closed_) return false;
    if (is_idle()) return true;
    if (now() >= end || (real_end != TimePoint::max() && system_clock_.now() >= real_end)) return false;
    if (!more) rest(end, real_end);
  }
}

// Nothing is ready: lets time pass up to the next timer, or waits for what other threads and descriptors
// bring.
void Engine::rest(TimePoint end, TimePoint real_end) {
  if (clock_->runs_by_itself()) return wait_until(end);
  ManualClock* const clock = manual(*clock_);
  const auto next = timers_.next();
  if (clock != nullptr && next) return clock->advance(std::min(*next, end) - now());
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
