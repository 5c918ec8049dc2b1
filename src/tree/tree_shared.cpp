#include "tree/tree_shared.hpp"

#include "mailbox/mailbox.hpp"

namespace agentcore::detail::tree {
namespace {

StopTime time_of(const TreeShared& tree) noexcept {
  const Clock& clock = tree.engine->clock();
  return {clock.now(), clock.wall_time()};
}

void name(const TreeShared& tree, ControlOp& op) {
  const core::Node* node = tree.resolve(op.agent);
  if (node && !node->is_root_sentinel()) op.agent_name = tree.table.names().name_of(*node, op.agent);
}

void describe(const TreeShared& tree, ControlOp& op, bool reports, std::string_view caller,
              std::string_view reason) {
  op.origin = StopOrigin(std::string(caller), std::string(reason));
  if (!reports) return;
  name(tree, op);
  op.caller = caller;
  op.reason = reason;
}

}  // namespace

bool TreeShared::is_quiet(const core::Node& root, bool with_subtree, bool with_root) const noexcept {
  if (engine->on_loop_thread()) return true;
  const core::Node* const now = table.active_agent.load(std::memory_order_seq_cst);
  if (!now || (!with_root && now == &root)) return true;
  if (now == table.several_agents()) return false;
  return with_subtree ? !core::is_within(now, &root) : now != &root;
}

std::size_t TreeShared::queue_length(const core::Node& node, core::NodeId id) const noexcept {
  const std::uint32_t generation = core::generation_of(id);
  if (!core::look_again(node, generation).open()) return 0;
  return cleared.left(pool, id, [&] {
    return mailbox::ClearedMessages::Mailbox{mailbox::length(node, generation), mailbox::position(node)};
  });
}

bool TreeShared::waits(const core::Node& node, std::uint32_t number) const noexcept {
  const mailbox::Cell& cell = pool[number];
  return cell.belongs_to(node.id()) && core::look(node, core::generation_of(node.id())).open() &&
         !mailbox::MessagePool::is_withdrawn(cell) &&
         !cleared.covers(node.id(), cell.position.load(std::memory_order_relaxed));
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
    describe(tree, op, reports, caller, reason);
  });
}

std::unique_ptr<ControlOp> closing_op_for(const TreeShared& tree, core::NodeId id, bool reports,
                                          std::string_view caller, std::string_view reason,
                                          StopWhen when) noexcept {
  return prepared([&](ControlOp& op) {
    op.agent = id;
    describe(tree, op, reports || tree.cuts, caller, reason);
    op.when = when;
    note_call(tree, op, when);
  });
}

void note_call(const TreeShared& tree, ControlOp& op, StopWhen when) {
  if (!tree.cuts) return;
  op.audit = std::make_unique<AuditNote>();
  op.audit->called = time_of(tree);
  op.audit->when = when;
}

void note_effect(const TreeShared& tree, ControlOp& op) noexcept {
  if (!op.audit) return;
  if (op.when == StopWhen::now)
    op.audit->closed = time_of(tree);
  else
    op.audit->was_deferred = true;
}

}  // namespace agentcore::detail::tree
