#include "tree/resume.hpp"

#include "core/gates.hpp"
#include "core/transitions.hpp"
#include "mailbox/mailbox.hpp"

#include <optional>
#include <utility>

namespace agentcore::detail::tree {
namespace {

using core::Gate;
using core::GateView;
using core::Node;
using core::PackedState;

VerbResult open_for_resume(TreeShared& tree, Node& node, std::unique_ptr<ControlOp> op, ResumedBy by) {
  const core::Lock lock(tree.closing);
  for (;;) {
    const GateView view = look(node, op->agent);
    if (!view.valid) return VerbResult::refused(Errc::agent_not_found);
    if (view.effective == AgentState::terminating || view.own.gate() == Gate::terminate ||
        view.above == Gate::terminate)
      return VerbResult::refused(Errc::agent_terminating);
    if (view.effective == AgentState::stopping) return VerbResult::refused(Errc::agent_stopping);
    if (view.above != Gate::open) return VerbResult::refused(Errc::parent_stopped);
    if (const auto withdrawn = view.open() ? core::after_withdraw(view.own) : std::nullopt) {
      PackedState expected = view.own;
      if (!node.replace(expected, *withdrawn)) continue;
      node.extend_below(Node::grade_deletes | Node::deletes_forks, false);
      op->withdraws = true;
      op->withdrawals = ++tree.withdrawals;
      tree.control.push(std::move(op));
      return VerbResult::done();
    }
    if (view.effective != AgentState::stopped) return VerbResult::no_effect(Errc::not_stopped);
    if (by == ResumedBy::message && view.grade != core::Grade::none)
      return VerbResult::refused(Errc::agent_stopping);
    const std::optional<PackedState> after =
        core::after_resume(view.own, mailbox::is_settled(node, view.own));
    if (!after) return VerbResult::refused(Errc::agent_stopping);  // widened, and not settled again yet
    PackedState expected = view.own;
    if (const auto lease = view.own.has_lease() ? tree.table.leases().find(op->agent) : nullptr) {
      if (by != ResumedBy::host && lease->is_over()) return VerbResult::refused(Errc::lease_expired);
      lease->reopen();
    }
    if (!node.replace(expected, *after)) continue;
    node.extend_below(Node::stays_stopped | Node::unusable, false);
    mailbox::open(node, view.own.generation(), view.own.epoch());
    op->cascade = op->cascade && view.own.gate() == Gate::stop_tree;
    tree.control.push(std::move(op));
    return VerbResult::done();
  }
}

}  // namespace

VerbResult resume(TreeShared& tree, core::NodeId id, const ResumeOptions& options, ResumedBy by) {
  if (options.scope != Scope::agent && options.scope != Scope::subtree)
    return VerbResult::refused(Errc::invalid_config);
  Node* node = tree.reach(id);
  if (!node) return VerbResult::refused(tree.missing());
  auto op = op_for(tree, id, false);
  if (!op) return VerbResult::refused(Errc::out_of_memory);
  op->verb = Verb::resume;
  op->cascade = options.scope == Scope::subtree;
  const VerbResult result = open_for_resume(tree, *node, std::move(op), by);
  if (result.took_effect()) tree.waker->notify();
  return result;
}

VerbResult renew(TreeShared& tree, core::NodeId id) {
  const Node* const node = tree.reach(id);
  if (!node) return VerbResult::refused(tree.missing());
  const auto lease = tree.table.leases().find(id);
  if (!lease) return VerbResult::refused(Errc::no_lease);
  if (lease->renew()) return VerbResult::done();
  tree.table.leases().check(*node);
  return VerbResult::refused(Errc::lease_expired);
}

}  // namespace agentcore::detail::tree
