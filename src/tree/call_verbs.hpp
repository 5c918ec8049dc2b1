// The first halves of the verbs that end one tool call or one background task. All @threadsafe.
#pragma once

#include "tree/tree_shared.hpp"

#include <agentcore/tool.hpp>
#include <agentcore/verbs.hpp>

#include <string_view>

namespace agentcore::detail::tree {

// Each ends the call by one claim (turn::CallIndex), which the loop's own ends of calls make, too. Then it
// triggers the stop token of the call and queues a ControlOp. The second half writes what the claim has
// decided (turn::CallEnds).

VerbResult cancel_call(TreeShared& tree, core::NodeId id, std::string_view call_id, CancelOptions&& options);
VerbResult complete_call(TreeShared& tree, core::NodeId id, std::string_view call_id, ToolResult&& result);
VerbResult cancel_task(TreeShared& tree, std::string_view task_id, CancelOptions&& options);

}  // namespace agentcore::detail::tree
