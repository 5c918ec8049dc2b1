// SettleJobs: the stops, deletes, resumes and pauses in progress on the loop thread.
#pragma once

#include "core/agent_table.hpp"
#include "events/event_hub.hpp"
#include "tree/control_queue.hpp"
#include "tree/subtree_cursor.hpp"

#include <agentcore/runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace agentcore::detail::tree {

// One stop, delete, resume or pause of the subtree of `root`.
//
// Invariants:
// 1. A job is in the list of its phase; the phases with a walk share one, the queue.
// 2. `cursor` belongs to the phase `resuming`, `markers` to `marking`, `walkers` to `settling`. Only the
//    first job of the queue has positions other than its root; so only that one is corrected when an agent
//    is removed.
// 3. `root` is alive as long as the job exists: the removal of an agent ends all its jobs.
// 4. The members, and `running`, are those of RestPass.
struct SettleJob {
  enum class Phase : std::uint8_t {
    // Pending: a deferred stop or delete whose gate is open, or a pause that has not settled.
    noted,      // another job of the root waits for what this one waits for
    uncounted,  // waits for the next pass over the agents
    counting,   // the pass notes its members, or has just done so
    watching,   // some of them run
    resting,    // none of them runs: it takes effect
    hardening,  // its gate is being closed
    // A walk is to come, or under way.
    marking,   // reports `stopping` or `terminating`, parents first
    settling,  // settles the agents, children first
    resuming,  // reopens the agents, parents first
    waiting,   // for operations in flight, or for another job
  };

  std::unique_ptr<ControlOp> op;
  std::unique_ptr<StopRecord> record;  // null: none is to be made
  core::Node* root = nullptr;
  Phase phase = Phase::noted;
  std::list<SettleJob*>::iterator place;   // in the list of the phase
  core::Node* cursor = nullptr;            // the next agent; null: end of the walk
  std::vector<ParentFirstCursor> markers;  // empty: not begun
  std::vector<ChildFirstCursor> walkers;   // the same
  std::vector<std::string> done;           // for the report, like the two that follow
  std::vector<std::string> failed;
  std::size_t messages_dropped = 0;
  std::vector<MessageId> dropped;        // the first of these
  std::optional<Timer> timer;            // ends what it waits for: the pending phases, or the operations
  std::uint64_t number = 0;              // jobs that end together are reported in this order
  std::unique_ptr<SettleJob> next;       // in a list of jobs that end together
  std::optional<StopWhen> reported;      // by StopPending
  std::map<core::NodeId, bool> members;  // true: at rest when last looked at
  std::size_t running = 0;               // members that are not
  core::NodeId verified = 0;             // in `resting`: the members up to this one were looked at once more

  SettleJob() = default;
  SettleJob(const SettleJob&) = delete;
  SettleJob& operator=(const SettleJob&) = delete;
  // One by one: recursion could exhaust the stack.
  ~SettleJob() {
    while (next) next = std::exchange(next->next, nullptr);
  }

  bool is_pending() const noexcept { return phase < Phase::marking; }
  bool is_pause() const noexcept { return op->verb == Verb::pause; }
  // Why `node`, which the job includes, stops or is deleted.
  events::Why why(const core::Node& node) const noexcept {
    return {root == &node ? op->cause : StopCause::parent, op->origin};
  }
};

// All @loop_thread.
class SettleJobs {
  using Table = std::unordered_multimap<core::NodeId, std::unique_ptr<SettleJob>>;
  using List = std::list<SettleJob*>;
  using Phase = SettleJob::Phase;

 public:
  explicit SettleJobs(core::AgentTable& table) : agents_(table) { jobs_.reserve(16); }

  // A job that is not added yet, with all the memory that add() needs.
  class Draft {
   public:
    SettleJob& job() noexcept { return *listed_.front(); }

   private:
    friend SettleJobs;
    Table entry_;
    List listed_;
  };
  // For an agent with that id. Throws std::bad_alloc.
  Draft draft(core::NodeId root);
  // Adds the job as pending.
  void add_pending(Draft& draft, core::Node& root) noexcept;
  // Adds the job; if its verb took effect, at the end of the queue.
  void add(Draft& draft, core::Node& root) noexcept;
  // The same for a job that was pending.
  void harden(SettleJob& job) noexcept;
  // Moves a pending job to another pending phase.
  void move(SettleJob& job, Phase to) noexcept;
  // The oldest job in that phase, or null.
  SettleJob* first(Phase phase) const noexcept { return list(phase).empty() ? nullptr : list(phase).front(); }
  // Moves the pending stops and deletes of `root` to the phase `hardening`. The strongest comes first: a
  // delete, a stop of the subtree, the newest of these. The others will wait for it.
  void begin_hardening(core::NodeId root) noexcept;

  // The first job of the queue, or null.
  SettleJob* front() const noexcept { return first(Phase::marking); }
  // The walks of `job` are done: removes it from the queue.
  void end_walk(SettleJob& job) noexcept;
  // Removes a job without a report.
  void remove(SettleJob& job) noexcept;
  // Removes the jobs of `root` that end now, in the order in which their verbs were called: all of them if
  // the agent is gone, otherwise the stops.
  std::unique_ptr<SettleJob> take_done(core::NodeId root) noexcept;
  // Removes the pending jobs of `root`, in the same order: the pauses, or the others.
  std::unique_ptr<SettleJob> take_pending(core::NodeId root, bool pauses) noexcept;
  // Moves the current walk past an agent that is about to be removed.
  void step_past(const core::Node& node) noexcept;
  // Forgets all jobs.
  void clear() noexcept;

  // Without the pending ones.
  std::size_t size() const noexcept { return jobs_.size() - pending_; }
  bool has_pending() const noexcept { return pending_ != 0; }
  // True if a stop or a delete of `root` is pending.
  bool has_pending_stop(core::NodeId root) const noexcept;
  // True if `root` has a job that is not pending.
  bool is_settling(core::NodeId root) const noexcept;
  // True while a resume still has agents to open.
  bool has_resumes() const noexcept { return resumes_ != 0; }
  // Roots, and members of pending jobs.
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
  static std::size_t index(Phase phase) noexcept;
  const List& list(Phase phase) const noexcept { return lists_[index(phase)]; }
  List& list(Phase phase) noexcept { return lists_[index(phase)]; }
  void insert(Draft& draft, core::Node& root) noexcept;
  void forget(SettleJob& job) noexcept;
  template <typename Ends>
  std::unique_ptr<SettleJob> take(core::NodeId root, Ends&& ends) noexcept;

  core::AgentTable& agents_;
  Table jobs_;  // all, by root
  // By phase; those that have a walk are in that of `marking`. Oldest first.
  std::array<List, static_cast<std::size_t>(Phase::waiting) + 1> lists_;
  std::size_t pending_ = 0;
  std::size_t reports_wanted_ = 0;  // by those that are not pending
  std::size_t resumes_ = 0;
  std::uint64_t next_number_ = 0;
};

}  // namespace agentcore::detail::tree
