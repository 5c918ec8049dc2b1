#include "loop/poll_cycle.hpp"

#include <algorithm>
#include <chrono>
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

}  // namespace

bool PollCycle::run(Duration budget) {
  if (!state_.on_loop_thread()) state_.thread = std::this_thread::get_id();
  state_.in_poll.store(true, std::memory_order_relaxed);
  waker_.begin_poll();
  if (descriptors_.is_retry_due()) calls_.guarded("poll", [this] { descriptors_.ensure_open(); });
  if (waker_.take_throw()) calls_.report_throw("on_wake", "unknown");
  if (state_.called_on_wrong_thread.load(std::memory_order_relaxed)) calls_.report_wrong_thread();
  calls_.guarded("poll", [&] { run_stages(budget); });
  return finish();
}

void PollCycle::run_stages(Duration budget) {
  StageBudgets budgets(*state_.clock, std::clamp(budget, Duration(0), longest_poll));
  run_controls(budgets.control);
  if (!state_.closed) run_io(budgets.io);
  if (!state_.closed) run_timers(budgets.start, budgets.timers);
  if (!state_.closed) run_posts(budgets.posts);
  if (!state_.closed) run_rounds(budgets.control, budgets.rounds);
  run_ends();
  steps_ = budgets.used();
}

void PollCycle::run_controls(PollBudget& budget) {
  // By index: a callback may add and remove sources. One that is removed exists until the end of the poll.
  for (std::size_t i = 0; !state_.closed && i < work_.sources.size(); ++i)
    if (Source* const source = work_.sources.at(i))
      calls_.guarded("a source", [&] { source->run_control(budget); });
}

void PollCycle::run_io(PollBudget& budget) {
  // Events that ended the wait suffice for this poll: asking the system again costs as much as a small chunk
  // of an answer. After those that the last poll had no time for, which may be old, the system is asked: what
  // has come since counts before a time-out.
  const bool is_old = std::exchange(is_ready_old_, false);
  if (!work_.ready.empty()) {
    deliver_ready(budget);
    if (!is_old) return;
  }
  bool more = descriptors_.poller() != nullptr && work_.ready.empty();
  while (more && !state_.closed && !budget.exhausted()) {
    more = descriptors_.poller()->wait(Duration(0), work_.ready.refill());
    deliver_ready(budget);
  }
}

void PollCycle::deliver_ready(PollBudget& budget) {
  while (!state_.closed && !work_.ready.empty() && budget.spend()) {
    const platform::Ready ready = work_.ready.take();
    if (!work_.ready.empty()) hint_next_ready();
    const platform::Delivery delivery = descriptors_.poller()->deliver(ready);
    if (delivery.handler != nullptr)
      calls_.guarded("an i/o handler", [&] { delivery.handler->on_io(ready.descriptor, delivery.events); });
  }
}

void PollCycle::hint_next_ready() const noexcept {
  const platform::Ready& ready = work_.ready.front();
  if (IoHandler* const handler = descriptors_.poller()->deliver(ready).handler)
    handler->expect_io(ready.descriptor);
}

// Runs the timers that were due when the poll began. A callback may have taken long since then: data that
// has arrived meanwhile and would postpone a timer comes first, in the next poll.
void PollCycle::run_timers(TimePoint now, PollBudget& budget) {
  if (!work_.boot_timers.empty()) run_due(work_.boot_timers, state_.clock->boot_time(), budget);
  run_due(work_.timers, now, budget);
}

void PollCycle::run_due(TimerQueue& timers, TimePoint now, PollBudget& budget) {
  const std::uint64_t mark = timers.mark();  // a timer that is started from here on waits for the next poll
  // In this order: a queue in which none is due leaves the step to the other one.
  while (!state_.closed && timers.is_due(now, mark) && budget.spend())
    calls_.guarded("a timer", timers.take_due(now, mark));
}

void PollCycle::run_posts(PollBudget& budget) {
  // A function that is posted from here on waits for the next poll.
  for (std::size_t left = work_.posts.size(); left > 0 && !state_.closed && budget.spend(); --left) {
    const auto function = work_.posts.take();
    if (function) calls_.guarded("a posted function", function);
  }
}

void PollCycle::run_rounds(PollBudget& control, PollBudget& budget) {
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
    if (state_.closed) return;
    if (had_its_turn) ++cursor_;
    // Without time for control operations there are no further rounds either: they go first in the next poll.
    if (budget.exhausted() || control.exhausted()) return;
  }
}

void PollCycle::run_ends() {
  for (std::size_t i = 0; !state_.closed && i < work_.sources.size(); ++i)
    if (Source* const source = work_.sources.at(i)) calls_.guarded("a source", [&] { source->end_poll(); });
}

// False when there was no time left for the source.
bool PollCycle::gave_turn_to(Source& source, PollBudget& control, PollBudget& budget) {
  const std::uint32_t used = budget.used();
  calls_.guarded("a source", [&] {
    source.run_control(control);
    if (!state_.closed) source.run_round(budget);
  });
  // A round counts even if it found nothing to do.
  return budget.used() != used || budget.spend();
}

bool PollCycle::finish() {
  work_.sources.release_removed();
  is_ready_old_ = !work_.ready.empty();
  calls_.end_silence();
  state_.in_poll.store(false, std::memory_order_relaxed);
  waker_.end_poll();
  if (state_.closed) return false;
  if (!work_.has_ready()) {
    descriptors_.arm_timers(work_.next_timer(), work_.boot_timers.next());
    return false;
  }
  // Keeps the descriptor readable, and calls on_wake: some hosts watch nothing else.
  waker_.notify();
  return true;
}

}  // namespace agentcore::detail::loop
