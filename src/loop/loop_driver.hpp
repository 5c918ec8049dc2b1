// LoopDriver: drives an engine: polls, runs, and what a host needs to wait for either.
#pragma once

#include "core/internal_api.hpp"
#include "loop/loop_wait.hpp"
#include "loop/loop_work.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace agentcore::detail::loop {

// What Runtime offers to drive the loop and to wait for it; documented there. The caller keeps the engine
// alive during each call: a callback or the log sink may release all other references. Engine::driver() does
// so. Each stage of a poll asks Engine::closed() after each callback. @loop_thread
//
// Within a callback nothing is driven (docs/design/nested-loops.md). The first attempt to drive the loop in
// a callback makes the descriptor and on_wake silent, so that a nested loop of the host can sleep. The
// silence ends when the outermost callback, or the poll around it, has returned.
class LoopDriver {
 public:
  LoopDriver(Engine& engine, Duration poll_budget);

  bool poll() { return poll(poll_budget_); }
  bool poll(Duration budget);
  RunEnd run_for(Duration duration);
  RunEnd run_until_idle(Duration limit);

  // What a foreign loop needs.
  int poll_descriptor();
  bool descriptor_reports_all() const noexcept { return wait_.host_descriptor_reports_all(); }
  std::optional<TimePoint> next_deadline() const;

  // Ends the silence, if there is one: at the end of a poll, or of a callback outside of a poll.
  AGENTCORE_INTERNAL_API void end_silence() noexcept;

 private:
  bool refuses_to_drive() noexcept;

  // One poll of at most about `budget`: its stages, in this order. True when something is ready afterwards.
  bool run_poll(Duration budget);
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

  // Polls in a row, and the waits between them.
  RunEnd why_not() const noexcept;
  void run_to(TimePoint end);
  RunEnd run_to_idle(Duration limit);
  void run_by_hand(TimePoint end);
  bool advanced_clock_to_timer(TimePoint end);
  void rest(TimePoint end, TimePoint real_end);
  void wait(Duration at_most);
  void wait_until(TimePoint end);

  Engine& engine_;
  LoopWait& wait_;  // both are the engine's
  LoopWork& work_;
  Duration poll_budget_;
  std::size_t cursor_ = 0;     // the index of the source that has the next turn
  std::uint32_t steps_ = 0;    // of the last poll
  bool is_ready_old_ = false;  // events were left by the last poll
};

}  // namespace agentcore::detail::loop
