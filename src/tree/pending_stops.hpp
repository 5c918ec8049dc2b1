// PendingStops: deferred stops and deletes (StopWhen), from the call on. All @loop_thread.
#pragma once

#include "events/event_hub.hpp"
#include "tree/control_queue.hpp"
#include "tree/rest_watches.hpp"
#include "tree/scheduler.hpp"
#include "tree/settler.hpp"
#include "tree/tree_shared.hpp"

#include <agentcore/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace agentcore::detail::tree {

// The first half of such a verb has written its grade, which withholds beginnings and leaves the gate open.
// It hardens, and is an ordinary stop or delete from then on, when nothing runs below any more, when it has
// waited for too long, or when another verb has closed the gate. A resume withdraws it before.
class PendingStops {
 public:
  PendingStops(TreeShared& tree, events::EventHub& hub, Settler& settler, Scheduler& scheduler,
               RestWatches& rest)
      : tree_(tree), hub_(hub), settler_(settler), scheduler_(scheduler), rest_(rest) {}

  // Takes over a stop or a delete. If it throws, the caller still owns `op`, and nothing has changed.
  void start(std::unique_ptr<ControlOp>& op);
  // The second half of a resume that has withdrawn the stops of its agent.
  void withdraw(const ControlOp& op);
  // Nothing runs below the agent any more, or one of its stops has waited for too long. False if a withdrawal
  // is queued, which has to be read first: the stops harden after it.
  bool harden(core::NodeId agent);
  // A verb has closed a gate: harden_closed() is to be called before anything settles.
  void note_closed(core::NodeId agent, bool cascade);
  // Hardens the stops below closed gates, as long as the budget lasts. False: some are left, or the tree is
  // destroyed.
  bool harden_closed(loop::PollBudget& budget);
  // True once after stops have hardened: their operations are queued.
  bool take_hardened() noexcept { return std::exchange(has_hardened_, false); }
  bool has_work() const noexcept { return unchecked_ != 0; }

  std::size_t count(const core::References& refers) const noexcept;
  void clear() noexcept {
    pending_.clear();
    due_ = unchecked_ = 0;
  }

 private:
  struct Pending {
    std::unique_ptr<ControlOp> op;
    Timer escalation;
    std::optional<StopWhen> reported;  // by StopPending
  };
  using List = std::list<Pending>;
  // The stops and deletes of one agent, oldest first.
  struct Waiting {
    List stops;
    bool is_due = false;  // they harden when the loop has read the withdrawals that are queued
  };

  void escalate(core::NodeId agent);
  void report(core::NodeId agent, StopWhen when, bool withdrawn, const StopOrigin& origin);
  void harden_due();
  List take(core::NodeId agent) noexcept;

  TreeShared& tree_;
  events::EventHub& hub_;
  Settler& settler_;
  Scheduler& scheduler_;
  RestWatches& rest_;
  std::map<core::NodeId, Waiting> pending_;
  std::size_t due_ = 0;          // how many are due
  std::uint64_t withdrawn_ = 0;  // ControlOp::withdrawals of the last withdrawal that was read
  bool has_hardened_ = false;
  std::size_t unchecked_ =
      0;  // harden_closed() has to look at so many entries, from `checked_` on, in a ring
  core::NodeId checked_ = 0;
};

}  // namespace agentcore::detail::tree
