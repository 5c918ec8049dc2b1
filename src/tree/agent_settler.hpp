// AgentSettler: the end of one agent's stop or delete.
#pragma once

#include "core/agent_table.hpp"
#include "events/event_hub.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/rest_pass.hpp"
#include "tree/settle_jobs.hpp"
#include "tree/settle_reports.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace agentcore::detail::tree {

// Settles an agent without operations in flight, and then those of its ancestors that waited only for it:
// empties and closes the mailbox, writes `stopped`, reports the end, removes deleted agents. The numbered
// invariants are those of core::Settling. All @loop_thread; after each function here the tree may be
// destroyed: check hub.closed().
class AgentSettler {
 public:
  AgentSettler(TreeShared& tree, events::EventHub& hub, turn::Turns& turns, SettleJobs& jobs, RestPass& rest,
               SettleReports& reports)
      : tree_(tree), hub_(hub), turns_(turns), jobs_(jobs), rest_(rest), reports_(reports) {}

  // True if a walk has visited `node` and nothing keeps it waiting (invariant 1).
  static bool is_ready(const core::Node& node) noexcept;
  // Settles `node` if a walk has visited it and nothing keeps it waiting; otherwise does nothing.
  void settle_if_ready(core::Node& node) noexcept;
  // Settles `node`, which is ready, and upwards. `deleting_above`: an ancestor is being deleted. `walk`: the
  // job whose walk visits `node`; null: none.
  void settle_upwards(core::Node& node, bool deleting_above, const SettleJob* walk) noexcept;
  // Makes the parent of `node` wait for it (invariant 2).
  static void count_in_parent(core::Node& node) noexcept;

  // Schedules another visit of all agents, because an allocation has failed.
  void retry_later() noexcept { retry_ = true; }
  bool wants_retry() const noexcept { return retry_; }
  bool take_retry() noexcept { return std::exchange(retry_, false); }

 private:
  enum class Outcome : std::uint8_t {
    settled,           // stopped or removed
    waits_for_delete,  // stopped; its delete settles it and its subtree
    tree_gone,
  };

  bool record(core::Node& node, bool deleting_above) noexcept;
  events::Why why_of(const core::Node& node, AgentState to, const SettleJob* walk) const noexcept;
  Outcome settle(core::Node& node, bool deleting_above, const SettleJob* walk) noexcept;
  void stop(core::Node& node, bool deleting, const SettleJob* walk) noexcept;
  mailbox::DroppedMessages write_stopped(core::Node& node) noexcept;
  void remove(core::Node& node, const SettleJob* walk) noexcept;

  TreeShared& tree_;
  events::EventHub& hub_;
  turn::Turns& turns_;
  SettleJobs& jobs_;
  RestPass& rest_;
  SettleReports& reports_;
  bool retry_ = false;
};

}  // namespace agentcore::detail::tree
