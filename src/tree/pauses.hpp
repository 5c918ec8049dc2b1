// Pauses: the second halves of pause and unpause. All @loop_thread.
#pragma once

#include "events/event_hub.hpp"
#include "tree/control_queue.hpp"
#include "tree/rest_watches.hpp"
#include "tree/scheduler.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <functional>
#include <memory>
#include <unordered_map>

namespace agentcore::detail::tree {

// Reports a pause, stops the clocks of what waits below it, and reports when nothing runs there any more. The
// end of a pause starts the clocks again, and lets the turns go on that were parked. After anything that
// notifies observers the tree may be destroyed: check hub.closed().
class Pauses {
 public:
  Pauses(TreeShared& tree, events::EventHub& hub, turn::Turns& turns, Scheduler& scheduler, RestWatches& rest)
      : tree_(tree), hub_(hub), turns_(turns), scheduler_(scheduler), rest_(rest) {}

  // If it throws, the caller still owns `op`, and calls it again.
  void finish(ControlOp& op);
  // Nothing runs below the paused agent any more.
  void on_rest(core::NodeId root);
  std::size_t count(const core::References& refers) const noexcept;
  void clear() noexcept { callbacks_.clear(); }

 private:
  void report(const ControlOp& op);

  TreeShared& tree_;
  events::EventHub& hub_;
  turn::Turns& turns_;
  Scheduler& scheduler_;
  RestWatches& rest_;
  std::unordered_map<core::NodeId, std::function<void()>> callbacks_;  // PauseOptions::on_rest
};

}  // namespace agentcore::detail::tree
