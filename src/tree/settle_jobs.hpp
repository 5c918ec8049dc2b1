// SettleJobs: the stops, deletes and resumes in progress on the loop thread.
#pragma once

#include "core/agent_table.hpp"
#include "events/event_hub.hpp"
#include "tree/control_queue.hpp"
#include "tree/subtree_cursor.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace agentcore::detail::tree {

// One stop, delete or resume of the subtree of `root`.
//
// Invariants:
// 1. A job is in the queue of SettleJobs exactly while its phase is not `waiting`; `place` is valid only
//    then.
// 2. `cursor` belongs to the phase `resuming`, `markers` to `marking`, `walkers` to `settling`. Only the
//    first job of the queue has positions other than its root; so only that one is corrected when an agent
//    is removed.
// 3. `root` is alive as long as the job exists: the removal of an agent ends all its jobs.
struct SettleJob {
  enum class Phase : std::uint8_t {
    marking,   // reports `stopping` or `terminating`, parents first
    settling,  // settles the agents, children first
    resuming,  // reopens the agents, parents first
    waiting,   // for operations in flight, or for another job
  };

  std::unique_ptr<ControlOp> op;
  std::unique_ptr<StopRecord> record;  // null: none is to be made
  core::Node* root = nullptr;
  Phase phase = Phase::waiting;
  std::list<SettleJob*>::iterator place;   // in the queue
  core::Node* cursor = nullptr;            // the next agent; null: end of the walk
  std::vector<ParentFirstCursor> markers;  // empty: not begun
  std::vector<ChildFirstCursor> walkers;   // the same
  std::vector<std::string> done;           // for the report, like the two that follow
  std::vector<std::string> failed;
  std::size_t messages_dropped = 0;
  std::vector<MessageId> dropped;   // the first of these
  std::uint64_t timer = 0;          // of the grace period; 0: not started
  std::uint64_t number = 0;         // jobs that end together are reported in this order
  std::unique_ptr<SettleJob> next;  // in a list of jobs that end together

  // Why `node`, which the job includes, stops or is deleted.
  events::Why why(const core::Node& node) const noexcept {
    return {root == &node ? op->cause : StopCause::parent, op->origin};
  }
};

// All @loop_thread.
class SettleJobs {
  using Table = std::unordered_multimap<core::NodeId, std::unique_ptr<SettleJob>>;

 public:
  explicit SettleJobs(core::AgentTable& table) : agents_(table) { jobs_.reserve(16); }

  // A job that is not added yet, with all the memory that add() needs.
  class Draft {
   public:
    SettleJob& job() noexcept { return *queued_.front(); }

   private:
    friend SettleJobs;
    Table entry_;
    std::list<SettleJob*> queued_;
  };
  // For an agent with that id. Throws std::bad_alloc.
  Draft draft(core::NodeId root);
  // Adds the job; if its verb took effect, at the end of the queue.
  void add(Draft& draft, core::Node& root) noexcept;

  // The first job of the queue, or null.
  SettleJob* front() const noexcept { return queue_.empty() ? nullptr : queue_.front(); }
  // The walks of `job` are done: removes it from the queue.
  void end_walk(SettleJob& job) noexcept;
  // Removes a job without a report.
  void remove(SettleJob& job) noexcept;
  // Removes the jobs of `root` that end now, in the order in which their verbs were called: all of them if
  // the agent is gone, otherwise the stops.
  std::unique_ptr<SettleJob> take_done(core::NodeId root) noexcept;
  // Moves the current walk past an agent that is about to be removed.
  void step_past(const core::Node& node) noexcept;
  // Forgets all jobs.
  void clear() noexcept;

  std::size_t size() const noexcept { return jobs_.size(); }
  // True while a resume still has agents to open.
  bool has_resumes() const noexcept { return resumes_ != 0; }
  std::size_t count(const core::References& refers) const noexcept;
  // Why `node` goes to `to`, one of `stopping`, `stopped` and `terminating`: the cause and the origin of the
  // stop, or for `terminating` of the delete, that has closed the nearest of the agent and its ancestors.
  // `walk`: a job in whose subtree `node` is; null: not known.
  events::Why why(const core::Node& node, AgentState to, const SettleJob* walk) const noexcept;
  // True when at least one job has a report or a record to make.
  bool wants_reports() const noexcept { return reports_wanted_ != 0; }

  // Calls visit(job) for each job, or for each job of `root`.
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (auto& [id, job] : jobs_) visit(*job);
  }
  template <typename Visit>
  void for_each_of(core::NodeId root, Visit&& visit) {
    for (auto [it, end] = jobs_.equal_range(root); it != end; ++it) visit(*it->second);
  }

 private:
  void forget(SettleJob& job) noexcept;

  core::AgentTable& agents_;
  Table jobs_;                   // all, by root
  std::list<SettleJob*> queue_;  // oldest first
  std::size_t reports_wanted_ = 0;
  std::size_t resumes_ = 0;
  std::uint64_t next_number_ = 0;
};

}  // namespace agentcore::detail::tree
