#include "tree/pauses.hpp"

#include "core/gates.hpp"

#include <utility>

namespace agentcore::detail::tree {

using core::Node;

void Pauses::finish(ControlOp& op) {
  const bool pauses = op.verb == Verb::pause;
  if (pauses) {
    // All allocations come first.
    if (op.on_rest) callbacks_[op.agent] = op.on_rest;
    if (tree_.table.find(op.agent)) rest_.add(op.agent, RestWatches::Cause::pause);
  } else {
    rest_.remove(op.agent, RestWatches::Cause::pause);
    callbacks_.erase(op.agent);
  }
  turns_.parked().tell_pause();
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
  if (hub_.closed() || all) return;
  hub_.emit(*node, [&](Agent agent) { return PauseChanged{std::move(agent), pauses, op.origin}; });
}

void Pauses::on_rest(core::NodeId root) {
  const auto found = callbacks_.extract(root);
  const Node* const node = tree_.table.find(root);
  if (!node || !node->load().is_paused()) return;  // an unpause whose operation is still queued
  if (!node->is_root_sentinel()) hub_.emit(*node, [](Agent agent) { return PauseSettled{std::move(agent)}; });
  if (!hub_.closed() && found) tree_.engine->guarded("PauseOptions::on_rest", found.mapped());
}

std::size_t Pauses::count(const core::References& refers) const noexcept {
  std::size_t count = 0;
  for (const auto& [agent, callback] : callbacks_) count += refers(agent);
  return count;
}

}  // namespace agentcore::detail::tree
