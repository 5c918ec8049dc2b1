// LoopDriver: what Runtime offers to drive the loop and to wait for it; documented there.
#pragma once

#include "loop/host_calls.hpp"
#include "loop/loop_descriptors.hpp"
#include "loop/loop_state.hpp"
#include "loop/loop_work.hpp"
#include "loop/poll_cycle.hpp"

#include <agentcore/runtime.hpp>

#include <optional>

namespace agentcore::detail::loop {

// The caller keeps the engine alive during each call: a callback or the log sink may release all other
// references. Engine::driver() does so. Within a callback nothing is driven. @loop_thread
class LoopDriver {
 public:
  LoopDriver(const LoopState& state, LoopDescriptors& descriptors, LoopWork& work, HostCalls& calls,
             PollCycle& cycle, Duration poll_budget)
      : state_(state),
        descriptors_(descriptors),
        work_(work),
        calls_(calls),
        cycle_(cycle),
        poll_budget_(poll_budget) {}

  bool poll() { return poll(poll_budget_); }
  bool poll(Duration budget) { return !calls_.refuses_to_drive() && cycle_.run(budget); }
  RunEnd run_for(Duration duration);
  RunEnd run_until_idle(Duration limit);

  // What a foreign loop needs.
  int poll_descriptor();
  bool descriptor_reports_all() const noexcept { return descriptors_.host_descriptor_reports_all(); }
  std::optional<TimePoint> next_deadline() const;

 private:
  RunEnd why_not() const noexcept;
  void run_to(TimePoint end);
  RunEnd run_to_idle(Duration limit);
  void run_by_hand(TimePoint end);
  bool advanced_clock_to_timer(TimePoint end);
  void rest(TimePoint end, TimePoint real_end);
  void wait(Duration at_most);
  void wait_until(TimePoint end);

  const LoopState& state_;
  LoopDescriptors& descriptors_;
  LoopWork& work_;
  HostCalls& calls_;
  PollCycle& cycle_;
  Duration poll_budget_;
};

}  // namespace agentcore::detail::loop
