// LoopWork: everything that the loop has to do, now or later.
#pragma once

#include "loop/loop_state.hpp"
#include "loop/post_queue.hpp"
#include "loop/ready_list.hpp"
#include "loop/source_list.hpp"
#include "loop/timer_queue.hpp"
#include "loop/waker.hpp"

namespace agentcore::detail::loop {

// The queues of an engine. @loop_thread, but for PostQueue::push()
struct LoopWork {
  LoopWork(const LoopState& loop_state, Waker& waker) : state(loop_state), sources(loop_state, waker) {}

  // True when a poll would find something to do now.
  bool has_ready() const;
  // True when nothing is ready, no timer is set and no operation is open.
  bool is_idle() const;

  const LoopState& state;
  ReadyList ready;
  int pending = 0;  // open I/O operations (model calls)
  TimerQueue timers;
  PostQueue posts;
  SourceList sources;
};

}  // namespace agentcore::detail::loop
