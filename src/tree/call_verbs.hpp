// CallVerbs: the first halves of the verbs that end one tool call or one background task. All @threadsafe.
#pragma once

#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/tool.hpp>
#include <agentcore/verbs.hpp>

#include <memory>
#include <string_view>

namespace agentcore::detail::tree {

// Ends the call by one claim (turn::CallClaims), which the loop's own ends of calls make, too. Then triggers
// its stop token and queues a ControlOp. The second half writes what the claim has decided (ToolCalls,
// BackgroundTasks).
class CallVerbs {
 public:
  CallVerbs(TreeShared& tree, turn::Turns& turns) : tree_(tree), turns_(turns) {}

  VerbResult cancel_call(core::NodeId id, std::string_view call_id, CancelOptions&& options);
  VerbResult complete_call(core::NodeId id, std::string_view call_id, ToolResult&& result);
  VerbResult cancel_task(std::string_view task_id, CancelOptions&& options);

 private:
  VerbResult end(turn::CallKey key, turn::CallEnding&& how);

  TreeShared& tree_;
  turn::Turns& turns_;
};

}  // namespace agentcore::detail::tree
