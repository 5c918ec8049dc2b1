// Source: what the loop drives, for example an agent tree.
#pragma once

#include "loop/poll_budget.hpp"

namespace agentcore::detail::loop {

// Something that the loop drives. All calls come from the loop thread, inside a poll, unless stated
// otherwise.
class Source {
 public:
  // Control operations (stop, abort, ...): called first, and before every round.
  virtual void run_control(PollBudget& budget) = 0;
  // One round: at most one step per agent.
  virtual void run_round(PollBudget& budget) = 0;
  // True when run_control() or run_round() would find something to do now. May be called at any time.
  virtual bool has_work() const noexcept = 0;
  // The last call of a poll, after all rounds of all sources.
  virtual void end_poll() {}
  // True when end_poll() would find something to do now.
  virtual bool has_end_work() const noexcept { return false; }
  // True while an operation is open whose end will come through a descriptor, a timer or a post.
  virtual bool has_pending() const noexcept = 0;
  // The Runtime is being destroyed: no other function of this source is called from now on. Called once,
  // before any code of the host runs because of the end; the source may be on the stack.
  virtual void on_engine_closed() noexcept {}

 protected:
  ~Source() = default;
};

}  // namespace agentcore::detail::loop
