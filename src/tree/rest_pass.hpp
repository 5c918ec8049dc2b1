// RestPass: notices when nothing runs below the root of a pending job any more.
#pragma once

#include "core/agent_table.hpp"
#include "tree/progress.hpp"
#include "tree/settle_jobs.hpp"
#include "turn/turns.hpp"

#include <map>

namespace agentcore::detail::tree {

// While beginnings are withheld, an agent that has neither a turn nor an operation gets none. So a job notes
// the others once, in a pass over all agents, and follows them from then on, through check(). When none of
// them runs, it looks at them once more, because not everything that lets an agent run again is reported.
// All work is done in pieces, within the budget of a poll. All @loop_thread.
//
// Invariants:
// 1. SettleJob::running is the number of members that are not at rest.
// 2. From the phase `watching` on, the members are the agents that the job covers and that have a turn or an
//    operation; in `watching` one of them runs, in `resting` none.
// 3. At most one job of a root waits for the stops of the root to take effect, the newest; the others are in
//    the phase `noted`.
class RestPass {
 public:
  RestPass(core::AgentTable& agents, turn::Turns& turns, SettleJobs& jobs)
      : agents_(agents), turns_(turns), jobs_(jobs) {}

  // The job, which is pending, waits until nothing runs below its root.
  void begin(SettleJob& job) noexcept;
  // The job has waited for long enough: it is the same as if nothing ran.
  void expire(SettleJob& job) noexcept;
  // An operation or the turn of `node` has ended, or began or ceased to wait; or the agent is to be removed.
  void check(const core::Node& node) noexcept {
    if (jobs_.has_pending()) check_above(node);
  }
  // A job below whose root nothing runs; it stays so until its phase is changed. Null: there is none, or the
  // budget is used up. Throws std::bad_alloc; the next call tries again.
  SettleJob* next(loop::PollBudget& budget);
  bool has_work() const noexcept {
    return jobs_.first(Phase::uncounted) || jobs_.first(Phase::counting) || jobs_.first(Phase::resting);
  }
  void clear() noexcept { pass_.cancel(); }

 private:
  using Phase = SettleJob::Phase;
  using Members = std::map<core::NodeId, bool>;

  bool count_all(loop::PollBudget& budget);
  void begin_pass() noexcept;
  void count_agent(const core::Node& node);
  void check_above(const core::Node& node) noexcept;
  bool verify(SettleJob& job, loop::PollBudget& budget) noexcept;

  template <typename Visit>
  void for_each_above(const core::Node& node, Visit&& visit);
  bool has_activity(const core::Node& node) const noexcept;
  bool is_at_rest(const SettleJob& job, const core::Node& node) const noexcept;
  void update(SettleJob& job, Members::iterator member, bool rests) noexcept;
  void sort(SettleJob& job) noexcept;

  core::AgentTable& agents_;
  turn::Turns& turns_;
  SettleJobs& jobs_;
  SlotPass pass_;
};

}  // namespace agentcore::detail::tree
