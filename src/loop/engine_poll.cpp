// One poll: the stages and their shares of the budget.
#include "loop/engine.hpp"

#include <algorithm>
#include <chrono>

namespace agentcore::loop {

namespace {

// Bounds a poll where time does not pass by itself, too.
constexpr std::uint32_t step_limit = 65536;

constexpr Duration longest_poll = std::chrono::hours(1);  // so that a budget times 13 does not overflow

}  // namespace

// How far into the poll each stage may go. Each of them gets on by a step at least, however long the others
// took.
struct Engine::Shares {
  Shares(const Clock& clock, Duration whole)
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
  Budget control, io, timers, posts, rounds;
};

bool Engine::poll(Duration budget) {
  if (refuses()) return false;
  const auto self = shared_from_this();  // a callback may drop everybody else's
  if (!on_loop_thread()) loop_thread_ = std::this_thread::get_id();
  in_poll_ = true;
  waker_->begin_poll();
  if (lacking_ && now() >= retry_at_) guarded("poll", [this] { ensure_open(); });
  if (waker_->take_throw()) report_throw("on_wake", "unknown");
  guarded("poll", [&] { run_stages(budget); });
  return finish_poll();
}

void Engine::run_stages(Duration budget) {
  Shares shares(*clock_, std::clamp(budget, Duration(0), longest_poll));
  run_controls(shares.control);
  if (!closed_) run_io(shares.io);
  if (!closed_) run_timers(shares.start, shares.timers);
  if (!closed_) run_posts(shares.posts);
  if (!closed_) run_rounds(shares.control, shares.rounds);
  steps_ = shares.used();
}

void Engine::run_controls(Budget& budget) {
  // By index: a callback may add and remove sources. One that is removed lives until the end of the poll.
  for (std::size_t i = 0; !closed_ && i < sources_.size(); ++i)
    if (Source* const source = sources_[i].get()) guarded("a source", [&] { source->run_control(budget); });
}

void Engine::run_io(Budget& budget) {
  // What the last poll had no time for, or what the loop woke up with, goes first, and is enough for once:
  // asking the system again costs as much as a small chunk of an answer.
  if (next_ready_ < ready_.size()) return deliver_ready(budget);
  bool more = poller_ != nullptr;
  while (more && !closed_ && !budget.exhausted()) {
    ready_.clear();
    next_ready_ = 0;
    more = poller_->wait(Duration(0), ready_);
    deliver_ready(budget);
  }
}

void Engine::deliver_ready(Budget& budget) {
  while (!closed_ && next_ready_ < ready_.size() && budget.spend()) {
    const Ready ready = ready_[next_ready_++];
    if (next_ready_ < ready_.size()) expect(ready_[next_ready_]);
    const Delivery delivery = poller_->deliver(ready);
    if (delivery.handler != nullptr)
      guarded("an i/o handler", [&] { delivery.handler->on_io(ready.descriptor, delivery.events); });
  }
}

void Engine::expect(const Ready& ready) const noexcept {
  if (IoHandler* const handler = poller_->deliver(ready).handler) handler->expect_io(ready.descriptor);
}

// Those that were due when the poll began. A callback may have taken long since then, and what has arrived
// meanwhile and would put a timer off comes first, in the next poll.
void Engine::run_timers(TimePoint now, Budget& budget) {
  if (timers_.empty()) return;
  const std::uint64_t mark = timers_.mark();  // what is started from here on waits for the next poll
  while (!closed_ && budget.spend()) {
    const auto function = timers_.take_due(now, mark);
    if (!function) return;
    guarded("a timer", function);
  }
}

void Engine::run_posts(Budget& budget) {
  // A function that is posted from here on waits for the next poll.
  for (std::size_t left = posts_.size(); left > 0 && !closed_ && budget.spend(); --left) {
    const auto function = posts_.take();
    if (function) guarded("a posted function", function);
  }
}

void Engine::run_rounds(Budget& control, Budget& budget) {
  // Goes on where the last poll ended, so that a source with endless work cannot starve the others.
  for (std::size_t quiet = 0; quiet < sources_.size();) {
    if (cursor_ >= sources_.size()) cursor_ = 0;
    Source* const source = sources_[cursor_].get();
    if (source == nullptr || !source->has_work()) {
      ++cursor_;
      ++quiet;
      continue;
    }
    quiet = 0;
    const bool had_its_turn = step_source(*source, control, budget);
    if (closed_) return;
    if (had_its_turn) ++cursor_;
    // Without time for control operations there are no further rounds either: they go first in the next poll.
    if (budget.exhausted() || control.exhausted()) return;
  }
}

// False when there was no time left for the source.
bool Engine::step_source(Source& source, Budget& control, Budget& budget) {
  const std::uint32_t used = budget.used();
  guarded("a source", [&] {
    source.run_control(control);
    if (!closed_) source.run_round(budget);
  });
  // A round counts even if it found nothing to do.
  return budget.used() != used || budget.spend();
}

bool Engine::finish_poll() {
  std::erase(sources_, nullptr);
  release_retired();
  std::erase(sources_, nullptr);  // what was released may have removed others
  end_silence();
  in_poll_ = false;
  waker_->end_poll();
  if (closed_ || !has_ready()) return false;
  // Keeps the descriptor readable, and calls on_wake: some hosts watch nothing else.
  waker_->notify();
  return true;
}

bool Engine::has_ready() const {
  if (next_ready_ < ready_.size() || !posts_.empty()) return true;
  if (const auto next = timers_.next(); next && *next <= clock_->now()) return true;
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const auto& source) { return source && source->has_work(); });
}

bool Engine::is_idle() const {
  if (has_ready() || !timers_.empty() || pending_ != 0) return false;
  return std::none_of(sources_.begin(), sources_.end(),
                      [](const auto& source) { return source && source->has_pending(); });
}

}  // namespace agentcore::loop
