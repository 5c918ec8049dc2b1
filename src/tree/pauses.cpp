#include "tree/pauses.hpp"

#include "core/gates.hpp"
#include "core/transitions.hpp"

#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;
using core::PackedState;

namespace {

VerbResult change(TreeShared& tree, Node& node, std::unique_ptr<ControlOp> op) {
  const bool pauses = op->verb == Verb::pause;
  {
    const core::Lock lock(tree.pausing);
    for (PackedState packed = node.load();;) {
      if (packed.generation() != core::generation_of(op->agent) || packed.is_free())
        return VerbResult::refused(Errc::agent_not_found);
      const std::optional<PackedState> after = core::after_pause(packed, pauses);
      if (!after) return VerbResult::no_effect(pauses ? Errc::paused : Errc::not_paused);
      if (node.replace(packed, *after)) break;
    }
    tree.control.push(std::move(op));
  }
  tree.waker->notify();  // calls a function of the host
  return VerbResult::done();
}

}  // namespace

VerbResult pause(TreeShared& tree, core::NodeId id, PauseOptions&& options) {
  Node* const node = tree.reach(id);
  if (!node) return VerbResult::refused(tree.missing());
  auto op = op_for(tree, id, false, {}, options.reason);
  if (!op) return VerbResult::refused(Errc::out_of_memory);
  op->verb = Verb::pause;
  op->on_rest = std::move(options.on_rest);
  VerbResult result = change(tree, *node, std::move(op));
  if (result.accepted()) result.quiet = tree.is_quiet(*node, true);
  return result;
}

UnpauseResult unpause(TreeShared& tree, core::NodeId id) {
  Node* const node = tree.reach(id);
  if (!node) return {VerbResult::refused(tree.missing())};
  auto op = op_for(tree, id, false);
  if (!op) return {VerbResult::refused(Errc::out_of_memory)};
  op->verb = Verb::unpause;
  UnpauseResult result{change(tree, *node, std::move(op))};
  const Node* const parent = node->parent.load(std::memory_order_acquire);
  const Node* const by = parent && result.accepted() ? core::paused_by(*parent) : nullptr;
  if (!by) return result;
  std::string name = by->is_root_sentinel() ? std::string() : tree.table.names().name_of(*by, by->id());
  // The agent was alive during the whole walk, or what the walk has read means nothing: see core::look().
  if (tree.reach(id) != node) return result;
  result.still_paused = true;
  result.paused_by = std::move(name);
  return result;
}

void Pauses::finish(ControlOp& op) {
  Callbacks former;  // destroyed at the end: a callback may hold anything
  if (op.verb == Verb::unpause) {
    rest_.remove(op.agent, RestWatches::Cause::pause);
    former.insert(callbacks_.extract(op.agent));
  } else if (tree_.table.find(op.agent)) {
    // All allocations come first.
    rest_.add(op.agent, RestWatches::Cause::pause);
    if (op.on_rest) callbacks_[op.agent].swap(op.on_rest);
  }
  turns_.parked().note_pause();
  if (hub_.closed()) return;
  scheduler_.visit_agents();
  report(op);
}

void Pauses::report(const ControlOp& op) {
  const Node* const node = tree_.table.find(op.agent);
  if (!node) return;
  const bool pauses = op.verb == Verb::pause;
  const bool all = node->is_root_sentinel();
  tree_.engine->guarded("a log record", [&] {
    tree_.engine->log(LogLevel::info,
                      all      ? pauses ? "all agents are paused" : "all agents are unpaused"
                      : pauses ? "an agent is paused"
                               : "an agent is unpaused",
                      {{"agent", all ? std::string() : tree_.table.names().name_of(*node, op.agent)},
                       {"reason", op.origin.reason()}});
  });
  if (hub_.closed()) return;
  const auto make = [&](Agent agent) { return PauseChanged{std::move(agent), pauses, op.origin}; };
  if (all)
    hub_.emit_for(0, make);
  else
    hub_.emit(*node, make);
}

void Pauses::on_rest(core::NodeId root) {
  const auto found = callbacks_.extract(root);
  const Node* const node = tree_.table.find(root);
  if (!node || !node->load().is_paused()) return;  // an unpause whose operation is still queued
  const auto make = [](Agent agent) { return PauseSettled{std::move(agent)}; };
  if (node->is_root_sentinel())
    hub_.emit_for(0, make);
  else
    hub_.emit(*node, make);
  if (!hub_.closed() && found) tree_.engine->guarded("PauseOptions::on_rest", found.mapped());
}

void Pauses::forget_deleted() noexcept {
  Callbacks former;  // destroyed at the end: a callback may hold anything
  for (auto at = callbacks_.begin(); at != callbacks_.end();) {
    const auto next = std::next(at);
    if (!tree_.table.find(at->first)) former.insert(callbacks_.extract(at));
    at = next;
  }
}

std::size_t Pauses::count(const core::References& refers) const noexcept {
  std::size_t count = 0;
  for (const auto& [agent, callback] : callbacks_) count += refers(agent);
  return count;
}

}  // namespace agentcore::detail::tree
