#include "loop/loop_driver.hpp"

#include "loop/engine.hpp"
#include "loop/time.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

namespace agentcore::detail::loop {

namespace {

// Bounds a poll where time does not pass by itself, too.
constexpr std::uint32_t step_limit = 65536;

constexpr Duration longest_poll = std::chrono::hours(1);  // so that a budget times 13 does not overflow

// The budgets of one poll: how far into it each stage may go. Each stage takes a step at least, however long
// the others took.
struct StageBudgets {
  StageBudgets(const Clock& clock, Duration whole)
      : start(clock.now()),
        control(clock, start + whole / 2, step_limit),
        io(clock, start + whole * 3 / 4, step_limit),
        timers(clock, start + whole * 13 / 16, step_limit),
        posts(clock, start + whole * 7 / 8, step_limit),
        rounds(clock, start + whole, step_limit) {}

  std::uint32_t used() const noexcept {
    return control.used() + io.used() + timers.used() + posts.used() + rounds.used();
  }

  TimePoint start;
  PollBudget control, io, timers, posts, rounds;
};

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

LoopDriver::LoopDriver(Engine& engine, Duration poll_budget)
    : engine_(engine), wait_(engine.wait_), work_(engine.work_), poll_budget_(poll_budget) {
}

// True when the loop must not be driven: it is closed, or a poll or a callback is running. In the latter case
// the silence begins, if it runs on this thread.
bool LoopDriver::refuses_to_drive() noexcept {
  if (engine_.closed()) return true;
  if (engine_.in_poll_.load(std::memory_order_relaxed) && !engine_.on_loop_thread()) {
    engine_.note_wrong_thread("Runtime::poll");
    return true;  // not the silence of that thread
  }
  if (!engine_.in_poll_ && engine_.calls_ == 0) return false;
  if (wait_.is_muted()) return true;
  // During a poll the waker is silent anyway. Outside of a poll, in an observer that create() or walk()
  // calls, it is made silent in the same way.
  if (!engine_.in_poll_) engine_.waker_->begin_poll();
  wait_.mute(true);
  return true;
}

void LoopDriver::end_silence() noexcept {
  if (!wait_.is_muted() || engine_.closed()) return;
  wait_.mute(false);
  if (engine_.in_poll_) return;
  engine_.waker_->end_poll();
  if (work_.has_ready()) engine_.waker_->notify();
}

bool LoopDriver::poll(Duration budget) {
  return !refuses_to_drive() && run_poll(budget);
}

bool LoopDriver::run_poll(Duration budget) {
  if (!engine_.on_loop_thread()) engine_.thread_ = std::this_thread::get_id();
  engine_.in_poll_.store(true, std::memory_order_relaxed);
  engine_.waker_->begin_poll();
  if (wait_.is_retry_due()) engine_.guarded("poll", [this] { engine_.open_wait(); });
  if (engine_.waker_->take_throw())
    engine_.log(LogLevel::error, "a callback threw", {{"callback", "on_wake"}, {"exception", "unknown"}});
  if (engine_.called_on_wrong_thread_.load(std::memory_order_relaxed)) engine_.log_wrong_thread();
  engine_.guarded("poll", [&] { run_stages(budget); });
  return finish();
}

void LoopDriver::run_stages(Duration budget) {
  StageBudgets budgets(*engine_.clock_, std::clamp(budget, Duration(0), longest_poll));
  run_controls(budgets.control);
  if (!engine_.closed()) run_io(budgets.io);
  if (!engine_.closed()) run_timers(budgets.start, budgets.timers);
  if (!engine_.closed()) run_posts(budgets.posts);
  if (!engine_.closed()) run_rounds(budgets.control, budgets.rounds);
  run_ends();
  steps_ = budgets.used();
}

void LoopDriver::run_controls(PollBudget& budget) {
  // By index: a callback may add and remove sources. One that is removed exists until the end of the poll.
  for (std::size_t i = 0; !engine_.closed() && i < work_.sources.size(); ++i)
    if (Source* const source = work_.sources.at(i))
      engine_.guarded("a source", [&] { source->run_control(budget); });
}

void LoopDriver::run_io(PollBudget& budget) {
  // Events that ended the wait suffice for this poll: asking the system again costs as much as a small chunk
  // of an answer. After those that the last poll had no time for, which may be old, the system is asked: what
  // has come since counts before a time-out.
  const bool is_old = std::exchange(is_ready_old_, false);
  if (!work_.found.empty()) {
    deliver_ready(budget);
    if (!is_old) return;
  }
  bool more = wait_.poller() != nullptr && work_.found.empty();
  while (more && !engine_.closed() && !budget.exhausted()) {
    more = wait_.poller()->wait(Duration(0), work_.found.refill());
    deliver_ready(budget);
  }
}

void LoopDriver::deliver_ready(PollBudget& budget) {
  while (!engine_.closed() && !work_.found.empty() && budget.spend()) {
    const platform::Ready ready = work_.found.take();
    if (!work_.found.empty()) hint_next_ready();
    const platform::Delivery delivery = wait_.poller()->deliver(ready);
    if (delivery.handler != nullptr)
      engine_.guarded("an i/o handler", [&] { delivery.handler->on_io(ready.descriptor, delivery.events); });
  }
}

void LoopDriver::hint_next_ready() const noexcept {
  const platform::Ready& ready = work_.found.front();
  if (IoHandler* const handler = wait_.poller()->deliver(ready).handler) handler->expect_io(ready.descriptor);
}

// Runs the timers that were due when the poll began. A callback may have taken long since then: data that
// has arrived meanwhile and would postpone a timer comes first, in the next poll.
void LoopDriver::run_timers(TimePoint now, PollBudget& budget) {
  if (!work_.boot_timers.empty()) run_due(work_.boot_timers, engine_.clock_->boot_time(), budget);
  run_due(work_.timers, now, budget);
}

void LoopDriver::run_due(TimerQueue& timers, TimePoint now, PollBudget& budget) {
  const std::uint64_t mark = timers.mark();  // a timer that is started from here on waits for the next poll
  // In this order: a queue in which none is due leaves the step to the other one.
  while (!engine_.closed() && timers.is_due(now, mark) && budget.spend())
    engine_.guarded("a timer", timers.take_due(now, mark));
}

void LoopDriver::run_posts(PollBudget& budget) {
  // A function that is posted from here on waits for the next poll.
  for (std::size_t left = work_.posts.size(); left > 0 && !engine_.closed() && budget.spend(); --left) {
    const auto function = work_.posts.take();
    if (function) engine_.guarded("a posted function", function);
  }
}

void LoopDriver::run_rounds(PollBudget& control, PollBudget& budget) {
  // Continues where the last poll ended, so that a source with endless work cannot starve the others.
  for (std::size_t quiet = 0; quiet < work_.sources.size();) {
    if (cursor_ >= work_.sources.size()) cursor_ = 0;
    Source* const source = work_.sources.at(cursor_);
    if (source == nullptr || !source->has_work()) {
      ++cursor_;
      ++quiet;
      continue;
    }
    quiet = 0;
    const bool had_its_turn = gave_turn_to(*source, control, budget);
    if (engine_.closed()) return;
    if (had_its_turn) ++cursor_;
    // Without time for control operations there are no further rounds either: they go first in the next poll.
    if (budget.exhausted() || control.exhausted()) return;
  }
}

void LoopDriver::run_ends() {
  for (std::size_t i = 0; !engine_.closed() && i < work_.sources.size(); ++i)
    if (Source* const source = work_.sources.at(i)) engine_.guarded("a source", [&] { source->end_poll(); });
}

// False when there was no time left for the source.
bool LoopDriver::gave_turn_to(Source& source, PollBudget& control, PollBudget& budget) {
  const std::uint32_t used = budget.used();
  engine_.guarded("a source", [&] {
    source.run_control(control);
    if (!engine_.closed()) source.run_round(budget);
  });
  // A round counts even if it found nothing to do.
  return budget.used() != used || budget.spend();
}

bool LoopDriver::finish() {
  work_.sources.release_removed();
  is_ready_old_ = !work_.found.empty();
  end_silence();
  engine_.in_poll_.store(false, std::memory_order_relaxed);
  engine_.waker_->end_poll();
  if (engine_.closed()) return false;
  if (!work_.has_ready()) {
    wait_.arm_timers(work_.next_timer(), work_.boot_timers.next());
    return false;
  }
  // Keeps the descriptor readable, and calls on_wake: some hosts watch nothing else.
  engine_.waker_->notify();
  return true;
}

RunEnd LoopDriver::run_for(Duration duration) {
  if (refuses_to_drive()) return why_not();
  return contained([&] {
    run_to(later(engine_.now(), duration));
    return engine_.closed() ? RunEnd::runtime_gone : RunEnd::limit;
  });
}

RunEnd LoopDriver::run_until_idle(Duration limit) {
  if (refuses_to_drive()) return why_not();
  return contained([&] { return run_to_idle(limit); });
}

// Why nothing is driven.
RunEnd LoopDriver::why_not() const noexcept {
  if (engine_.closed()) return RunEnd::runtime_gone;
  return engine_.on_loop_thread() ? RunEnd::in_callback : RunEnd::wrong_thread;
}

void LoopDriver::run_to(TimePoint end) {
  if (!engine_.clock_->runs_by_itself()) return run_by_hand(end);
  for (;;) {
    const bool more = poll();
    if (engine_.closed() || engine_.now() >= end) return;
    if (!more) wait_until(end);
  }
}

void LoopDriver::run_by_hand(TimePoint end) {
  for (std::uint32_t busy = 0;;) {
    busy = poll() ? busy + 1 + steps_ / steps_like_a_poll : 0;
    if (busy > 0 && busy < polls_at_one_time) continue;
    if (engine_.closed() || engine_.now() >= end) return;
    if (!advanced_clock_to_timer(end)) return;
  }
}

// Moves the clock to the first timer that is not due yet, at most to `end`. False: the clock did not move.
bool LoopDriver::advanced_clock_to_timer(TimePoint end) {
  const TimePoint start = engine_.now();
  engine_.clock_->advance(std::min(work_.until_next_timer().value_or(Duration::max()), end - start));
  return engine_.now() > start;
}

RunEnd LoopDriver::run_to_idle(Duration limit) {
  const TimePoint end = later(engine_.now(), limit);
  const Clock& real = engine_.system_clock_;
  // A clock that is moved by hand does not limit how long other threads and descriptors take.
  const TimePoint real_end = engine_.clock_->runs_by_itself() ? TimePoint::max() : later(real.now(), limit);
  for (std::uint32_t busy = 0;;) {
    busy = poll() ? busy + 1 + steps_ / steps_like_a_poll : 0;
    if (engine_.closed()) return RunEnd::runtime_gone;
    if (work_.is_idle()) return RunEnd::idle;
    if (is_over(engine_.now(), end) || is_over(real.now(), real_end)) return RunEnd::limit;
    if (busy == 0) rest(end, real_end);
    // Without a timer the clock stays: the work may be long and still end. `real_end` bounds it.
    if (!engine_.clock_->runs_by_itself() && busy >= polls_at_one_time && work_.until_next_timer())
      advanced_clock_to_timer(end);
  }
}

// Nothing is ready: lets time pass up to the next timer, or waits for what other threads and descriptors
// bring.
void LoopDriver::rest(TimePoint end, TimePoint real_end) {
  if (engine_.clock_->runs_by_itself()) return wait_until(end);
  if (work_.next_timer() && advanced_clock_to_timer(end)) return;
  wait(real_end - engine_.system_clock_.now());
}

void LoopDriver::wait_until(TimePoint end) {
  wait(std::min(work_.next_timer().value_or(end), end) - engine_.now());
}

void LoopDriver::wait(Duration at_most) {
  // Not in a poll: the flag is clear, or it was set after the poll and the descriptor is readable.
  engine_.open_wait();
  if (engine_.closed()) return;  // the log sink was called, and has closed it
  wait_.arm_timers(std::nullopt, work_.boot_timers.next());
  wait_.poller()->wait(wait_.limited_wait(at_most), work_.found.refill());
}

int LoopDriver::poll_descriptor() {
  assert(engine_.on_loop_thread());
  if (engine_.closed()) return -1;
  wait_.request_host_descriptor();
  if (wait_.host_descriptor() < 0) engine_.open_wait();
  if (engine_.closed()) return -1;  // the log sink was called, and has closed it
  if (!engine_.in_poll_) wait_.arm_timers(work_.next_timer(), work_.boot_timers.next());
  return wait_.host_descriptor();
}

std::optional<TimePoint> LoopDriver::next_deadline() const {
  if (engine_.closed() || engine_.in_poll_ || engine_.calls_ != 0) return std::nullopt;
  if (work_.has_ready()) return engine_.now();
  const std::optional<TimePoint> next = work_.next_timer();
  const std::optional<TimePoint> retry = wait_.host_retry_at();
  return retry ? std::min(next.value_or(TimePoint::max()), *retry) : next;
}

}  // namespace agentcore::detail::loop
