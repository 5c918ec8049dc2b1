// Pause and unpause.
#pragma once

#include "events/event_hub.hpp"
#include "tree/tree_shared.hpp"

#include <agentcore/pause.hpp>

namespace agentcore::detail::tree {

// The first halves. A pause is one compare-and-set of one bit, from which on every beginning below it is
// withheld (core::withheld). The bit is changed and the ControlOp queued under a mutex: so the loop reads the
// operations in the order in which they took effect. Also for the root sentinel. @threadsafe
VerbResult pause(TreeShared& tree, core::NodeId id, PauseOptions&& options);
UnpauseResult unpause(TreeShared& tree, core::NodeId id);

// The loop has read the operation of a pause or an unpause: logs it, and emits PauseChanged. @loop_thread
void report_pause(TreeShared& tree, core::NodeId id, bool pauses,
                  const StopOrigin& origin) AGENTCORE_RUNS_HOST_CODE;
// Nothing runs below the paused agent any more: emits PauseSettled. @loop_thread
void report_pause_settled(events::EventHub& hub, const core::Node& node) AGENTCORE_RUNS_HOST_CODE;

}  // namespace agentcore::detail::tree
