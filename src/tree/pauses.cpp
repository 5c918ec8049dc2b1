#include "tree/pauses.hpp"

#include "core/gates.hpp"
#include "core/transitions.hpp"

#include <memory>
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

void report_pause(TreeShared& tree, core::NodeId id, bool pauses, const StopOrigin& origin) {
  const Node* const node = tree.table.find(id);
  if (!node) return;
  const bool all = node->is_root_sentinel();
  tree.engine->guarded("a log record", [&] {
    tree.engine->log(LogLevel::info,
                     all      ? pauses ? "all agents are paused" : "all agents are unpaused"
                     : pauses ? "an agent is paused"
                              : "an agent is unpaused",
                     {{"agent", all ? std::string() : tree.table.names().name_of(*node, id)},
                      {"reason", origin.reason()}});
  });
  if (tree.hub.closed()) return;
  const auto make = [&](Agent agent) { return PauseChanged{std::move(agent), pauses, origin}; };
  if (all)
    tree.hub.emit_for(0, make);
  else
    tree.hub.emit(*node, make);
}

void report_pause_settled(events::EventHub& hub, const Node& node) {
  const auto make = [](Agent agent) { return PauseSettled{std::move(agent)}; };
  if (node.is_root_sentinel())
    hub.emit_for(0, make);
  else
    hub.emit(node, make);
}

}  // namespace agentcore::detail::tree
