// PollCycle: one poll: its stages and their shares of the budget.
#pragma once

#include "loop/host_calls.hpp"
#include "loop/loop_descriptors.hpp"
#include "loop/loop_state.hpp"
#include "loop/loop_work.hpp"
#include "loop/source.hpp"
#include "loop/waker.hpp"

#include <cstddef>
#include <cstdint>

namespace agentcore::detail::loop {

// Every stage reads LoopState::closed after each callback. @loop_thread
class PollCycle {
 public:
  PollCycle(LoopState& state, LoopDescriptors& descriptors, LoopWork& work, HostCalls& calls, Waker& waker)
      : state_(state), descriptors_(descriptors), work_(work), calls_(calls), waker_(waker) {}

  // Runs one poll of at most about `budget`. The caller asked HostCalls::refuses_to_drive() and keeps the
  // engine alive. True when something is ready afterwards.
  bool run(Duration budget);

  // How many steps the last poll took.
  std::uint32_t steps() const noexcept { return steps_; }

 private:
  // The stages, in this order.
  void run_stages(Duration budget);
  void run_controls(PollBudget& budget);
  void run_io(PollBudget& budget);
  void run_timers(TimePoint now, PollBudget& budget);
  void run_due(TimerQueue& timers, TimePoint now, PollBudget& budget);
  void run_posts(PollBudget& budget);
  void run_ends();
  void run_rounds(PollBudget& control, PollBudget& budget);
  bool finish();

  void deliver_ready(PollBudget& budget);
  void hint_next_ready() const noexcept;
  bool gave_turn_to(Source& source, PollBudget& control, PollBudget& budget);

  LoopState& state_;
  LoopDescriptors& descriptors_;
  LoopWork& work_;
  HostCalls& calls_;
  Waker& waker_;
  std::size_t cursor_ = 0;  // the index of the source that has the next turn
  std::uint32_t steps_ = 0;
  bool is_ready_old_ = false;  // events were left by the last poll
};

}  // namespace agentcore::detail::loop
