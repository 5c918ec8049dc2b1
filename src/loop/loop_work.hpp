// LoopWork: everything that the loop has to do, now or later.
#pragma once

#include "core/internal_api.hpp"
#include "loop/post_queue.hpp"
#include "loop/source.hpp"
#include "loop/timer_queue.hpp"
#include "platform/poller.hpp"

#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace agentcore::detail::loop {

// The descriptors that the poller found ready and that are not delivered yet: a list that is filled in one
// wait and then taken from the front. Keeps its memory. @loop_thread
class FoundEvents {
 public:
  bool empty() const noexcept { return next_ == found_.size(); }
  // The first entry; the list is not empty.
  const platform::Ready& front() const noexcept { return found_[next_]; }
  // Removes the first entry and returns it; the list is not empty.
  platform::Ready take() noexcept { return found_[next_++]; }

  // Drops all entries; returns the vector that the next wait appends to. What was dropped is still ready and
  // will be found again.
  std::vector<platform::Ready>& refill() noexcept {
    found_.clear();
    next_ = 0;
    return found_;
  }

 private:
  std::vector<platform::Ready> found_;
  std::size_t next_ = 0;  // at most found_.size()
};

// The queues of an engine. @loop_thread, but for PostQueue::push()
struct LoopWork {
  explicit LoopWork(const Clock& of_engine) : clock(of_engine) {}

  // Never in the past: a caller that repeatedly starts overdue timers must not overtake those that wait. The
  // ids of timers of Clock::boot_time() differ from those of all others.
  std::uint64_t add_timer(TimePoint when, std::function<void()> function, TimerUse use);
  AGENTCORE_INTERNAL_API bool cancel_timer(std::uint64_t id) noexcept;
  // The time now by the clock of such timers.
  TimePoint time_of(TimerUse use) const noexcept {
    return use == TimerUse::boot_watch ? clock.boot_time() : clock.now();
  }
  // When the first of all timers is due, by Clock::now(). Nothing: none is set.
  std::optional<TimePoint> next_timer() const noexcept;
  // The time until the first timer that is not due yet. Nothing: there is none.
  std::optional<Duration> until_next_timer() const noexcept;

  // True when a poll would find something to do now.
  bool has_ready() const;
  // True when nothing is ready, no timer is set and no operation is open.
  bool is_idle() const;

  const Clock& clock;
  FoundEvents found;
  int pending = 0;  // open I/O operations (model calls)
  TimerQueue timers;
  TimerQueue boot_timers;  // of Clock::boot_time()
  PostQueue posts;
  SourceList sources;
};

}  // namespace agentcore::detail::loop
