// Settler: the second phase of stop, terminate, resume and pause, on the loop thread.
#pragma once

#include "core/agent_table.hpp"
#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/agent_settler.hpp"
#include "tree/control_queue.hpp"
#include "tree/progress.hpp"
#include "tree/rest_pass.hpp"
#include "tree/settle_jobs.hpp"
#include "tree/settle_reports.hpp"
#include "tree/settle_walk.hpp"
#include "turn/turns.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace agentcore::detail::tree {

// The order of its work: transfers first (cut every open call below a closed gate, end its turn), then the
// walks (SettleWalk), one job after the other. An agent with an operation in flight settles when the
// operation has ended, or is abandoned at the end of the grace period. All @loop_thread. After anything that
// notifies observers the tree may be destroyed: check hub.closed().
//
// A deferred stop or delete is a pending job: its grade withholds beginnings, and its gate is open. It
// hardens, which closes the gate, when nothing runs below any more, when it has waited for too long, or when
// the walk of another verb comes to its agent. A resume withdraws it before. A pause is a pending job until
// nothing runs below.
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
  // Takes over a resume that has withdrawn the pending stops of its agent.
  void withdraw(const ControlOp& op);
  // Takes over a pause or an unpause. Throws like start().
  void change_pause(std::unique_ptr<ControlOp>& op);
  // Goes on with the pending jobs.
  void run_pending(loop::PollBudget& budget);
  // Continues the jobs until all are done or the budget is used up.
  void run(loop::PollBudget& budget);
  // The pending stops and deletes of the agent take effect. `read`: how many withdrawals the loop has read;
  // if there are more, or an operation is queued, nothing happens, and false is returned. Nothing: another
  // verb has closed the agent; then its pending stops wait for that verb, its pending delete comes after it.
  bool harden(core::NodeId agent, std::optional<std::uint64_t> read = {});
  // The turn or an operation of `node` has ended, or began or ceased to wait.
  void check_rest(const core::Node& node) noexcept { rest_.check(node); }
  // An operation of `node` has ended: settles the agent if it waited for that. Within a callback the agent
  // settles in the next run(), because no agent may settle or be removed before the callback has returned.
  void on_operation_ended(core::Node& node) noexcept;

  bool has_work() const noexcept {
    return !deferred_.empty() || cut_pass_.is_active() || overdue_pass_.is_active() ||
           retry_pass_.is_active() || agents_.wants_retry() || jobs_.front() || rest_.has_work();
  }
  // True while a resume that has begun still has agents to open.
  bool has_resumes() const noexcept { return jobs_.has_resumes(); }
  // Jobs not done yet, waiting ones included, without those that are pending.
  std::size_t jobs() const noexcept { return jobs_.size(); }
  // Jobs that refer to these agents, and deferred settlings (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;
  // Forgets everything; completions are not called.
  void clear();

 private:
  void start_pending(SettleJobs::Draft& draft, std::unique_ptr<ControlOp>& op, core::Node& node);
  void report_pending(const SettleJob& job, bool withdrawn);
  void go_on_hardened(SettleJob& job);
  void settle_pause(SettleJob& job);
  void keep_own_stop(core::Node& node, StopCause cause) noexcept;

  bool begin(SettleJob& job);
  void log_verb(const ControlOp& op) noexcept;
  void begin_close(core::Node& node, const ControlOp& op);
  void delete_forks(ControlOp& op);
  bool is_over(const core::Node& node, const ControlOp& op) const noexcept;
  bool cut_small_subtree(core::Node& root);

  Progress settle_deferred(loop::PollBudget& budget);
  Progress run_passes(loop::PollBudget& budget);
  void cut_if_closed(std::uint32_t slot);
  void give_up_if_overdue(std::uint32_t slot);

  void start_grace(core::NodeId root) noexcept;
  void start_timer(SettleJob& job, TimePoint when);
  void on_timer(SettleJob& job) noexcept;

  TreeShared& tree_;
  core::AgentTable& table_;
  events::EventHub& hub_;
  turn::Turns& turns_;
  turn::Operations& operations_;
  loop::Engine& engine_;
  const Duration grace_;

  SettleJobs jobs_;
  RestPass rest_;
  SettleReports reports_;
  AgentSettler agents_;
  SettleWalk walk_;
  SlotPass cut_pass_;                   // over operations: cuts those whose gate is closed
  SlotPass overdue_pass_;               // over operations: abandons those whose grace period is over
  SlotPass retry_pass_;                 // over agents: settles those that could not be settled
  std::vector<core::NodeId> deferred_;  // their last operation ended within a callback
  std::uint64_t withdrawn_ = 0;         // ControlOp::withdrawals of the last withdrawal that was read
};

}  // namespace agentcore::detail::tree
