// What becomes of steered messages that no step of a turn has taken. All @loop_thread.
#pragma once

#include "tree/tree_shared.hpp"
#include "turn/turn_context.hpp"

namespace agentcore::detail::tree {

// The turn of the agent is over: each message that waits for one of its steps becomes the next message of the
// mailbox, or is given back. Reported by Steered; an observer may destroy the tree.
void release_steered(TreeShared& tree, events::EventHub& hub,
                     core::Node& node) noexcept AGENTCORE_RUNS_HOST_CODE;
// Gives those back that a verb has dropped.
void return_dropped_steers(TreeShared& tree, events::EventHub& hub,
                           core::Node& node) noexcept AGENTCORE_RUNS_HOST_CODE;
// Gives all of them back, with that reason.
void return_steered(TreeShared& tree, events::EventHub& hub, core::Node& node,
                    Errc reason) noexcept AGENTCORE_RUNS_HOST_CODE;

}  // namespace agentcore::detail::tree
