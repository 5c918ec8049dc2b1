// The two halves of pause and unpause.
#pragma once

#include "events/event_hub.hpp"
#include "tree/control_queue.hpp"
#include "tree/rest_watches.hpp"
#include "tree/scheduler.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/pause.hpp>

#include <functional>
#include <map>
#include <memory>

namespace agentcore::detail::tree {

// The first halves. A pause is one compare-and-set of one bit, from which on every beginning below it is
// withheld (core::withheld). The bit is changed and the ControlOp queued under a mutex: so the loop reads the
// operations in the order in which they took effect. Also for the root sentinel. @threadsafe
VerbResult pause(TreeShared& tree, core::NodeId id, PauseOptions&& options);
UnpauseResult unpause(TreeShared& tree, core::NodeId id);

// The second halves, all @loop_thread. Reports a pause, stops the clocks of what waits below it, and reports
// when nothing runs there any more. The end of a pause starts the clocks again, and lets the turns go on that
// were parked. After anything that notifies observers the tree may be destroyed: check hub.closed().
class Pauses {
 public:
  Pauses(TreeShared& tree, events::EventHub& hub, turn::Turns& turns, Scheduler& scheduler, RestWatches& rest)
      : tree_(tree), hub_(hub), turns_(turns), scheduler_(scheduler), rest_(rest) {}

  // If it throws, the caller still owns `op`, and calls it again.
  void finish(ControlOp& op);
  // Nothing runs below the paused agent any more.
  void on_rest(core::NodeId root);
  // Forgets the agents that do not exist any more.
  void forget_deleted() noexcept;
  std::size_t count(const core::References& refers) const noexcept;
  void clear() noexcept { callbacks_.clear(); }

 private:
  using Callbacks = std::map<core::NodeId, std::function<void()>>;  // nodes move from one to another

  void report(const ControlOp& op);

  TreeShared& tree_;
  events::EventHub& hub_;
  turn::Turns& turns_;
  Scheduler& scheduler_;
  RestWatches& rest_;
  Callbacks callbacks_;  // PauseOptions::on_rest
};

}  // namespace agentcore::detail::tree
