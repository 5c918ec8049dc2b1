#include "tree/tree_shared.hpp"

namespace agentcore::detail::tree {

std::unique_ptr<ControlOp> op_for(const TreeShared& tree, core::NodeId id, bool names_agent) noexcept {
  return prepared([&](ControlOp& op) {
    op.agent = id;
    const core::Node* node = names_agent ? tree.resolve(id) : nullptr;
    if (node && !node->is_root_sentinel()) op.agent_name = tree.table.names().name_of(*node, id);
  });
}

}  // namespace agentcore::detail::tree
