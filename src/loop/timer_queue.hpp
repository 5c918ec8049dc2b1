// TimerQueue: pending timers, the earliest first.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace agentcore::detail::loop {

enum class TimerUse : std::uint8_t {
  work,        // something waits for it: until then the loop is not idle
  watch,       // nothing waits for it
  boot_watch,  // the same, at a time of Clock::boot_time(), which passes while the machine sleeps
};

// A binary heap over slots that know their place in it: add, cancel and take are O(log n) and allocate only
// while the number of timers grows. Timers of the same time come in the order in which they were added.
// @loop_thread
class AGENTCORE_INTERNAL_API TimerQueue {
 public:
  // The new timer's id: never 0, never one that was handed out before. A queue has the times of one clock.
  std::uint64_t add(TimePoint when, std::function<void()> function, TimerUse use = TimerUse::work);

  // True when the timer was still pending. Its function is destroyed when the queue is consistent again, so
  // what it captured may call back in.
  bool cancel(std::uint64_t id) noexcept;

  std::optional<TimePoint> next() const noexcept;
  // The earliest time after `now` for which a timer is set. O(n) when the first timer is due already.
  std::optional<TimePoint> next_after(TimePoint now) const noexcept;
  bool empty() const noexcept { return heap_.empty(); }
  // True if all timers are watches.
  bool is_idle() const noexcept { return heap_.size() == watches_; }
  std::size_t size() const noexcept { return heap_.size(); }

  // Everything added from now on is younger than this mark.
  std::uint64_t mark() const noexcept { return next_order_; }

  // True if the first timer is due at `now` and older than `mark`.
  bool is_due(TimePoint now, std::uint64_t mark) const noexcept {
    return !heap_.empty() && heap_.front().when <= now && heap_.front().order < mark;
  }
  // Takes the first timer if it is due at `now` and older than `mark`; else returns an empty function.
  std::function<void()> take_due(TimePoint now, std::uint64_t mark) noexcept;

  // Drops all timers, as cancel() does.
  void clear() noexcept;

 private:
  struct Entry {
    TimePoint when;
    std::uint64_t order;  // among equal times
    std::uint32_t slot;
  };
  struct Slot {
    std::function<void()> function;
    std::uint32_t generation = 1;  // of its id; moves on when the timer ends
    std::uint32_t place = 0;       // in the heap
    TimerUse use = TimerUse::work;
  };

  static bool before(const Entry& a, const Entry& b) noexcept {
    return a.when != b.when ? a.when < b.when : a.order < b.order;
  }
  std::uint32_t free_slot();
  void put(std::size_t place, const Entry& entry) noexcept;
  void sift_up(std::size_t place) noexcept;
  void sift_down(std::size_t place) noexcept;
  std::function<void()> remove(std::size_t place) noexcept;

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t watches_ = 0;
  std::uint64_t next_order_ = 1;
};

}  // namespace agentcore::detail::loop
