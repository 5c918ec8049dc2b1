#include "tree/pause_verbs.hpp"

#include "core/gates.hpp"
#include "core/transitions.hpp"

#include <optional>
#include <string>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;
using core::PackedState;

VerbResult PauseVerbs::pause(core::NodeId id, PauseOptions&& options) {
  Node* const node = tree_.reach(id);
  if (!node) return VerbResult::refused(tree_.missing());
  auto op = op_for(tree_, id, false, {}, options.reason);
  if (!op) return VerbResult::refused(Errc::out_of_memory);
  op->verb = Verb::pause;
  op->on_rest = std::move(options.on_rest);
  VerbResult result = change(*node, std::move(op));
  if (result.accepted()) result.quiet = tree_.is_quiet(*node, true);
  return result;
}

UnpauseResult PauseVerbs::unpause(core::NodeId id) {
  Node* const node = tree_.reach(id);
  if (!node) return {VerbResult::refused(tree_.missing())};
  auto op = op_for(tree_, id, false);
  if (!op) return {VerbResult::refused(Errc::out_of_memory)};
  op->verb = Verb::unpause;
  UnpauseResult result{change(*node, std::move(op))};
  const Node* const parent = node->parent.load(std::memory_order_acquire);
  const Node* const by = parent && result.accepted() ? core::paused_by(*parent) : nullptr;
  if (!by) return result;
  std::string name = by->is_root_sentinel() ? std::string() : tree_.table.names().name_of(*by, by->id());
  // The agent was alive during the whole walk, or what the walk has read means nothing: see core::look().
  if (tree_.reach(id) != node) return result;
  result.still_paused = true;
  result.paused_by = std::move(name);
  return result;
}

VerbResult PauseVerbs::change(Node& node, std::unique_ptr<ControlOp> op) {
  const bool pauses = op->verb == Verb::pause;
  {
    const core::Lock lock(changing_);
    for (PackedState packed = node.load();;) {
      if (packed.generation() != core::generation_of(op->agent) || packed.is_free())
        return VerbResult::refused(Errc::agent_not_found);
      const std::optional<PackedState> after = core::after_pause(packed, pauses);
      if (!after) return VerbResult::no_effect(pauses ? Errc::paused : Errc::not_paused);
      if (node.replace(packed, *after)) break;
    }
    tree_.control.push(std::move(op));
  }
  tree_.waker->notify();  // calls a function of the host
  return VerbResult::done();
}

}  // namespace agentcore::detail::tree
