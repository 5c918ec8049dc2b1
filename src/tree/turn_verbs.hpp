// The first halves of abort, interrupt and release_queue, and acknowledge. All @threadsafe.
#pragma once

#include "tree/tree_shared.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/verbs.hpp>

namespace agentcore::detail::tree {

// Verbs that end a turn, or keep the next one from beginning, and leave the gate open. The second halves are
// in Scheduler.
//
// An abort, and an interrupt of one agent, is one compare-and-set of its packed state: the turn that was read
// has ended, or the verb tries again. An interrupt of a subtree is one store of a number, with which turns
// compare the number at their beginning (core::is_interrupted).
//
// AgentTable::erasing() is held for what a verb writes beside the packed state: so it is written for an agent
// that the verb has found alive, and not in a later life of the slot; and a hold of a subtree, its release
// and the number of an interrupt are each one step for other verbs.

VerbResult abort(TreeShared& tree, core::NodeId id, AbortOptions&& options);
VerbResult interrupt(TreeShared& tree, core::NodeId id, InterruptOptions&& options);
VerbResult release_queue(TreeShared& tree, core::NodeId id);
Errc acknowledge(TreeShared& tree, core::NodeId id, const Acknowledgement& seen) noexcept;

}  // namespace agentcore::detail::tree
