// Settler: the second phase of stop, terminate and resume, on the loop thread after a gate was closed or
// opened.
#pragma once

#include "core/agent_table.hpp"
#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/agent_settler.hpp"
#include "tree/control_queue.hpp"
#include "tree/progress.hpp"
#include "tree/settle_jobs.hpp"
#include "tree/settle_reports.hpp"
#include "tree/settle_walk.hpp"
#include "turn/turns.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace agentcore::detail::tree {

// The order of its work: transfers first (cut every open call below a closed gate, end its turn), then the
// walks (SettleWalk), one job after the other. An agent with an operation in flight settles when the
// operation has ended, or is abandoned at the end of the grace period. All @loop_thread. After anything that
// notifies observers the tree may be destroyed: check hub.closed().
//
// When an allocation fails, work is delayed, but not lost: start() takes over an operation completely or not
// at all, a walk keeps its position, and an agent that cannot be settled stays unchanged. The next run()
// tries again.
class Settler {
 public:
  Settler(TreeShared& tree, events::EventHub& hub, turn::Turns& turns);

  // Takes over a stop, a terminate or a resume. If it throws, the caller still owns `op` and nothing has
  // changed.
  void start(std::unique_ptr<ControlOp>& op);
  // Continues the jobs until all are done or the budget is used up.
  void run(loop::PollBudget& budget);
  // An ancestor was stopped before a deferred stop of `node` took effect: a resume of the ancestor does not
  // open `node`.
  void keep_own_stop(core::Node& node, StopCause cause) noexcept;
  // An operation of `node` has ended: settles the agent if it waited for that. Within a callback the agent
  // settles in the next run(), because no agent may settle or be removed before the callback has returned.
  void on_operation_ended(core::Node& node) noexcept;

  bool has_work() const noexcept {
    return !deferred_.empty() || cut_pass_.is_active() || overdue_pass_.is_active() ||
           retry_pass_.is_active() || agents_.wants_retry() || jobs_.front();
  }
  // True while a resume that has begun still has agents to open.
  bool has_resumes() const noexcept { return jobs_.has_resumes(); }
  // Jobs not done yet, waiting ones included.
  std::size_t jobs() const noexcept { return jobs_.size(); }
  // Jobs that have these agents as their roots, and deferred settlings (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;
  // Forgets everything; completions are not called.
  void clear();

 private:
  void log_verb(const ControlOp& op) noexcept;
  void begin_close(core::Node& node, const ControlOp& op);
  bool is_over(const core::Node& node, const ControlOp& op) const noexcept;
  bool cut_small_subtree(core::Node& root);

  Progress settle_deferred(loop::PollBudget& budget);
  Progress run_passes(loop::PollBudget& budget);
  void cut_if_closed(std::uint32_t slot);
  void give_up_if_overdue(std::uint32_t slot);

  void start_grace(core::NodeId root) noexcept;
  void end_grace(core::NodeId root, bool all) noexcept;

  core::AgentTable& table_;
  events::EventHub& hub_;
  turn::Turns& turns_;
  turn::Operations& operations_;
  loop::Engine& engine_;
  const Duration grace_;

  SettleJobs jobs_;
  SettleReports reports_;
  AgentSettler agents_;
  SettleWalk walk_;
  SlotPass cut_pass_;                   // over operations: cuts those whose gate is closed
  SlotPass overdue_pass_;               // over operations: abandons those whose grace period is over
  SlotPass retry_pass_;                 // over agents: settles those that could not be settled
  std::vector<core::NodeId> deferred_;  // their last operation ended within a callback
};

}  // namespace agentcore::detail::tree
