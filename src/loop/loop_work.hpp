// LoopWork: everything that the loop has to do, now or later.
#pragma once

#include "core/internal_api.hpp"
#include "loop/loop_state.hpp"
#include "loop/post_queue.hpp"
#include "loop/ready_list.hpp"
#include "loop/source.hpp"
#include "loop/timer_queue.hpp"

#include <agentcore/clock.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace agentcore::detail::loop {

// The queues of an engine. @loop_thread, but for PostQueue::push()
struct LoopWork {
  explicit LoopWork(const LoopState& loop_state) : state(loop_state) {}

  // Adds a timer of Clock::boot_time(), for which nothing waits. Its id differs from those of all others.
  std::uint64_t add_boot_timer(TimePoint when, std::function<void()> function);
  AGENTCORE_INTERNAL_API bool cancel_timer(std::uint64_t id) noexcept;
  // When the first of all timers is due, by Clock::now(). Nothing: none is set.
  std::optional<TimePoint> next_timer() const noexcept;
  // The time until the first timer that is not due yet. Nothing: there is none.
  std::optional<Duration> until_next_timer() const noexcept;

  // True when a poll would find something to do now.
  bool has_ready() const;
  // True when nothing is ready, no timer is set and no operation is open.
  bool is_idle() const;

  const LoopState& state;
  ReadyList ready;
  int pending = 0;  // open I/O operations (model calls)
  TimerQueue timers;
  TimerQueue boot_timers;  // of Clock::boot_time()
  PostQueue posts;
  SourceList sources;
};

}  // namespace agentcore::detail::loop
