#include "tree/tree_shared.hpp"

namespace agentcore::detail::tree {
namespace {

void name(const TreeShared& tree, ControlOp& op) {
  const core::Node* node = tree.resolve(op.agent);
  if (node && !node->is_root_sentinel()) op.agent_name = tree.table.names().name_of(*node, op.agent);
}

}  // namespace

bool TreeShared::is_quiet(const core::Node& root, bool with_subtree, bool with_root) const noexcept {
  if (engine->on_loop_thread()) return true;
  const core::Node* const now = table.active_agent.load(std::memory_order_seq_cst);
  if (!now || (!with_root && now == &root)) return true;
  if (now == table.several_agents()) return false;
  return with_subtree ? !core::is_within(now, &root) : now != &root;
}

std::unique_ptr<ControlOp> op_for(const TreeShared& tree, core::NodeId id, bool names_agent) noexcept {
  return prepared([&](ControlOp& op) {
    op.agent = id;
    if (names_agent) name(tree, op);
  });
}

std::unique_ptr<ControlOp> op_for(const TreeShared& tree, core::NodeId id, bool reports,
                                  std::string_view caller, std::string_view reason) noexcept {
  return prepared([&](ControlOp& op) {
    op.agent = id;
    op.origin = StopOrigin(std::string(caller), std::string(reason));
    if (!reports) return;
    name(tree, op);
    op.caller = caller;
    op.reason = reason;
  });
}

}  // namespace agentcore::detail::tree
