// The first halves of stop and terminate. All @threadsafe, but for harden().
#pragma once

#include "tree/control_queue.hpp"
#include "tree/tree_shared.hpp"

#include <agentcore/verbs.hpp>

#include <cstdint>
#include <optional>

namespace agentcore::detail::tree {

// A verb has two halves. The first is a free function: it runs on the caller's thread, at any time,
// concurrently with everything else. It closes or opens a gate with one compare-and-set of one packed state,
// cuts a bounded number of operations on the wire, and queues a ControlOp. The second half runs on the loop
// thread (Settler).
//
// Stop, resume and terminate read the ancestors, replace the packed state and queue their ControlOp under the
// mutex TreeShared::closing: no other of them runs between these steps, and the loop reads the operations in
// the order in which they took effect. The end of the tree takes the same mutex: no verb decides by an
// outdated read of the ancestors.

// `given`: the cause that the host gave, if `options` has another one.
VerbResult stop(TreeShared& tree, core::NodeId id, StopOptions&& options,
                std::optional<StopCause> given = {}) AGENTCORE_RUNS_HOST_CODE;
// The same for a host, which may not give every cause (StopOptions::cause).
VerbResult stop_for_host(TreeShared& tree, core::NodeId id, StopOptions&& options) AGENTCORE_RUNS_HOST_CODE;
VerbResult terminate(TreeShared& tree, core::NodeId id, TerminateOptions&& options) AGENTCORE_RUNS_HOST_CODE;

// The lease has run out: stops its agent. False: there was no memory for that.
bool stop_for_lease(TreeShared& tree, core::Lease& lease) noexcept AGENTCORE_RUNS_HOST_CODE;
// A deferred stop or delete takes effect, or waits for the verb that has closed the gate before
// (ControlOp::took_effect). `read`: how many withdrawals the loop has read; if there are more, one of them
// may be that of `op`. Then, and if any operation is queued, nothing has changed, and false is returned.
// Nothing: `op` is not withdrawn, and another verb has closed the gate.
// @loop_thread
bool harden(TreeShared& tree, core::Node& node, ControlOp& op,
            std::optional<std::uint64_t> read) AGENTCORE_RUNS_HOST_CODE;

// The tree or its Runtime is destroyed: closes the gate of the root sentinel, so that every later admission
// of an agent is refused.
void close_tree(TreeShared& tree) noexcept AGENTCORE_RUNS_HOST_CODE;

}  // namespace agentcore::detail::tree
