// SettleReports: the reports at the end of a stop or delete (StopReport).
#pragma once

#include "core/agent_table.hpp"
#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "mailbox/message_pool.hpp"
#include "tree/settle_jobs.hpp"
#include "turn/cut_trail.hpp"

#include <cstddef>

namespace agentcore::detail::tree {

// Fills the reports while agents settle, and calls the completions when their jobs end. All @loop_thread.
// After complete() and call() the tree may be destroyed: check hub.closed().
class SettleReports {
 public:
  // Of dropped messages, in a report (verbs.hpp says so).
  static constexpr std::size_t most_ids = 10'000;

  // `audit` and `trail`: both are null, or none.
  SettleReports(core::AgentTable& table, SettleJobs& jobs, events::EventHub& hub, loop::Engine& engine,
                StopAudit* audit, turn::CutTrail* trail)
      : table_(table), jobs_(jobs), hub_(hub), engine_(engine), audit_(audit), trail_(trail) {}

  // True if record() has something to do.
  bool are_wanted() const noexcept { return jobs_.wants_reports(); }
  // Writes the name of an agent that is about to stop (`stops`), or to be removed (`goes`), or both, into the
  // reports of its jobs. False when an allocation fails: then nothing has changed.
  bool record(const core::Node& node, bool stops, bool goes) noexcept;
  // Adds the dropped messages to the same reports: their number, and as many ids as there is room and memory
  // for.
  void count_dropped(const core::Node& node, const mailbox::DroppedMessages& dropped, bool removed) noexcept {
    if (dropped.count() != 0 && are_wanted()) write_dropped(node, dropped, removed);
  }

  // Moves what was cut of an agent that is about to stop or to be removed into the records of the same jobs.
  void take_cuts(const core::Node& node, bool stops, bool goes) noexcept {
    if (trail_) take_cuts_from_trail(node, stops, goes);
  }

  // Ends the jobs of `root`, except a delete whose agent still exists, and calls their completions.
  void complete(core::NodeId root) noexcept;
  // Hands over the record of `job`, and calls its completion.
  void call(SettleJob& job) noexcept;
  // True while a completion runs.
  bool is_calling() const noexcept { return calling_; }

 private:
  void write_dropped(const core::Node& node, const mailbox::DroppedMessages& dropped, bool removed) noexcept;
  void take_cuts_from_trail(const core::Node& node, bool stops, bool goes) noexcept;
  void write_record(SettleJob& job) noexcept;
  void call_completion(SettleJob& job) noexcept;
  void write_names(const core::Node& node, bool stops, bool goes);
  template <typename Write>
  void each_report(const core::Node& node, bool removed, Write&& write);
  template <typename Visit>
  void each_list(const core::Node& node, bool stops, bool goes, Visit&& visit);

  core::AgentTable& table_;
  SettleJobs& jobs_;
  events::EventHub& hub_;
  loop::Engine& engine_;
  StopAudit* const audit_;
  turn::CutTrail* const trail_;
  bool calling_ = false;
};

}  // namespace agentcore::detail::tree
