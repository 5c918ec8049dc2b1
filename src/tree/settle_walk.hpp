// SettleWalk: walks through the subtree of a job.
#pragma once

#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "tree/agent_settler.hpp"
#include "tree/progress.hpp"
#include "tree/settle_jobs.hpp"
#include "tree/tree_shared.hpp"

namespace agentcore::detail::tree {

class Settler;

// A stop or delete has two walks: down, parents first, to report `stopping` or `terminating` if the host
// observes states; then up, children first, to settle. A resume has one, down. An agent with an operation in
// flight is skipped and settles later; its ancestors wait for it.
//
// Iterative, bounded by the budget of a poll, and without an allocation per agent. In a large tree the cost
// of a walk is memory latency; so the walks of a stop or a delete are done by several cursors in turn, each
// in a subtree of its own, whose next agent is prefetched while the others work. The numbered invariants are
// those of core::Settling. All @loop_thread.
class SettleWalk {
 public:
  SettleWalk(TreeShared& tree, events::EventHub& hub, SettleJobs& jobs, AgentSettler& agents,
             Settler& settler)
      : tree_(tree), table_(tree.table), hub_(hub), jobs_(jobs), agents_(agents), settler_(settler) {}

  // Continues `job`, the first of the queue. When it is done, the job has left the queue or is destroyed.
  Progress run(SettleJob& job, loop::PollBudget& budget);

 private:
  Progress mark_down(SettleJob& job, loop::PollBudget& budget);
  Progress settle_up(SettleJob& job, loop::PollBudget& budget);
  Progress resume_down(SettleJob& job, loop::PollBudget& budget);

  void harden_pending(const core::Node& node);
  bool skips(const SettleJob& job, const core::Node& node) const noexcept;
  void pass(SettleJob& job, ParentFirstCursor& marker, bool descend);
  void mark(const SettleJob& job, core::Node& node);
  Progress step(SettleJob& job, ChildFirstCursor& walker);
  void descend(SettleJob& job, ChildFirstCursor& walker);
  void visit(const SettleJob& job, core::Node& node);
  void visit_stopped(const SettleJob& job, core::Node& node);
  bool resume(const SettleJob& job, core::Node& node);
  static bool decides_below(const core::Node& node) noexcept;
  bool reopen(core::Node& node) noexcept;

  TreeShared& tree_;
  core::AgentTable& table_;
  events::EventHub& hub_;
  SettleJobs& jobs_;
  AgentSettler& agents_;
  Settler& settler_;
};

}  // namespace agentcore::detail::tree
