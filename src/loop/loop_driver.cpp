#include "loop/loop_driver.hpp"

#include "loop/time.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <new>

namespace agentcore::detail::loop {

namespace {

// A clock that is moved by hand is not moved while something is ready. After so many polls in a row that left
// something ready, the work is taken to be endless, and the clock moves on. A poll full of steps counts as
// about a thousand polls.
constexpr std::uint32_t polls_at_one_time = 100'000;
constexpr std::uint32_t steps_like_a_poll = 66;

bool is_over(TimePoint now, TimePoint end) noexcept {
  return end != TimePoint::max() && now >= end;
}

// A wait needs memory for the descriptors that are ready. Whatever has failed for a lack of it, a poll is not
// interrupted: so the next call goes on.
template <typename Run>
RunEnd contained(Run&& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return RunEnd::out_of_memory;
  }
}

}  // namespace

RunEnd LoopDriver::run_for(Duration duration) {
  if (calls_.refuses_to_drive()) return why_not();
  return contained([&] {
    run_to(later(state_.now(), duration));
    return state_.closed ? RunEnd::runtime_gone : RunEnd::limit;
  });
}

RunEnd LoopDriver::run_until_idle(Duration limit) {
  if (calls_.refuses_to_drive()) return why_not();
  return contained([&] { return run_to_idle(limit); });
}

// Why nothing is driven.
RunEnd LoopDriver::why_not() const noexcept {
  if (state_.closed) return RunEnd::runtime_gone;
  return state_.on_loop_thread() ? RunEnd::in_callback : RunEnd::wrong_thread;
}

void LoopDriver::run_to(TimePoint end) {
  if (!state_.clock->runs_by_itself()) return run_by_hand(end);
  for (;;) {
    const bool more = poll();
    if (state_.closed || state_.now() >= end) return;
    if (!more) wait_until(end);
  }
}

void LoopDriver::run_by_hand(TimePoint end) {
  for (std::uint32_t busy = 0;;) {
    busy = poll() ? busy + 1 + cycle_.steps() / steps_like_a_poll : 0;
    if (busy > 0 && busy < polls_at_one_time) continue;
    if (state_.closed || state_.now() >= end) return;
    if (!advanced_clock_to_timer(end)) return;
  }
}

// Moves the clock to the first timer that is not due yet, at most to `end`. False: the clock did not move.
bool LoopDriver::advanced_clock_to_timer(TimePoint end) {
  const TimePoint start = state_.now();
  state_.clock->advance(std::min(work_.until_next_timer().value_or(Duration::max()), end - start));
  return state_.now() > start;
}

RunEnd LoopDriver::run_to_idle(Duration limit) {
  const TimePoint end = later(state_.now(), limit);
  const Clock& real = state_.system_clock;
  // A clock that is moved by hand does not limit how long other threads and descriptors take.
  const TimePoint real_end = state_.clock->runs_by_itself() ? TimePoint::max() : later(real.now(), limit);
  for (std::uint32_t busy = 0;;) {
    busy = poll() ? busy + 1 + cycle_.steps() / steps_like_a_poll : 0;
    if (state_.closed) return RunEnd::runtime_gone;
    if (work_.is_idle()) return RunEnd::idle;
    if (is_over(state_.now(), end) || is_over(real.now(), real_end)) return RunEnd::limit;
    if (busy == 0) rest(end, real_end);
    // Without a timer the clock stays: the work may be long and still end. `real_end` bounds it.
    if (!state_.clock->runs_by_itself() && busy >= polls_at_one_time && work_.until_next_timer())
      advanced_clock_to_timer(end);
  }
}

// Nothing is ready: lets time pass up to the next timer, or waits for what other threads and descriptors
// bring.
void LoopDriver::rest(TimePoint end, TimePoint real_end) {
  if (state_.clock->runs_by_itself()) return wait_until(end);
  if (work_.next_timer() && advanced_clock_to_timer(end)) return;
  wait(real_end - state_.system_clock.now());
}

void LoopDriver::wait_until(TimePoint end) {
  wait(std::min(work_.next_timer().value_or(end), end) - state_.now());
}

void LoopDriver::wait(Duration at_most) {
  // Not in a poll: the flag is clear, or it was set after the poll and the descriptor is readable.
  descriptors_.ensure_open();
  if (state_.closed) return;  // ensure_open() called the log sink, which closed the engine
  descriptors_.arm_timers(std::nullopt, work_.boot_timers.next());
  descriptors_.poller()->wait(descriptors_.limited_wait(at_most), work_.ready.refill());
}

int LoopDriver::poll_descriptor() {
  assert(state_.on_loop_thread());
  if (state_.closed) return -1;
  descriptors_.request_host_descriptor();
  if (!state_.in_poll) descriptors_.arm_timers(work_.next_timer(), work_.boot_timers.next());
  return state_.closed ? -1 : descriptors_.host_descriptor();
}

std::optional<TimePoint> LoopDriver::next_deadline() const {
  if (state_.closed || state_.in_poll || calls_.is_calling()) return std::nullopt;
  if (work_.has_ready()) return state_.now();
  const std::optional<TimePoint> next = work_.next_timer();
  const std::optional<TimePoint> retry = descriptors_.host_retry_at();
  return retry ? std::min(next.value_or(TimePoint::max()), *retry) : next;
}

}  // namespace agentcore::detail::loop
