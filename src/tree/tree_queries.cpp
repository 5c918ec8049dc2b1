#include "tree/tree_queries.hpp"

#include "core/gates.hpp"
#include "tree/subtree_cursor.hpp"

#include <cassert>

namespace agentcore::detail::tree {

using core::Node;

namespace {

std::optional<StopWhen> when_of(core::Grade grade) noexcept {
  if (grade == core::Grade::none) return std::nullopt;
  return grade == core::Grade::after_step ? StopWhen::after_step : StopWhen::after_turn;
}

}  // namespace

core::NodeId TreeQueries::find(std::string_view name) const noexcept {
  if (tree_.is_closed()) return 0;
  const Node* node = tree_.table.find(name);
  return node ? tree_.table.names().find(name) : 0;
}

std::string TreeQueries::name_of(core::NodeId id) const {
  const Node* node = tree_.resolve(id);
  return node && !node->is_root_sentinel() ? tree_.table.names().name_of(*node, id) : std::string();
}

bool TreeQueries::exists(core::NodeId id) const noexcept {
  const Node* node = tree_.reach(id);
  return node && core::look_again(*node, core::generation_of(id)).valid;
}

// A message goes from the mailbox into `Node::message`, and its turn into the packed state. They are read in
// this order, and a step of the loop counts: so it is found wherever it is.
bool TreeQueries::busy(core::NodeId id) const noexcept {
  const Node* node = tree_.reach(id);
  if (!node || node->is_root_sentinel()) return false;
  tree_.table.leases().check(*node);
  const bool waits = tree_.steers.count(id) != 0 || tree_.queue_length(*node, id) != 0;
  const bool in_turn = !tree_.is_quiet(*node, false) || node->message.load(std::memory_order_acquire) != 0;
  const core::GateView view = core::look_again(*node, core::generation_of(id));
  if (!view.valid || view.effective == AgentState::stopped) return false;
  return waits || in_turn || view.effective != AgentState::idle;
}

Result<AgentState> TreeQueries::state(core::NodeId id) const {
  if (const Node* node = tree_.reach(id)) {
    tree_.table.leases().check(*node);
    if (const core::GateView view = core::look_again(*node, core::generation_of(id)); view.valid)
      return view.effective;
  }
  return tree_.missing(no_agent_text);
}

Result<AgentStatus> TreeQueries::status(core::NodeId id) const {
  if (const Node* node = tree_.reach(id)) {
    tree_.table.leases().check(*node);
    const bool held = core::is_queue_held(*node);
    if (const core::GateView view = core::look_again(*node, core::generation_of(id)); view.valid)
      return AgentStatus{view.effective, view.paused, held, when_of(view.grade)};
  }
  return tree_.missing(no_agent_text);
}

Result<bool> TreeQueries::is_queue_held(core::NodeId id) const {
  if (const Node* node = tree_.reach(id)) {
    const bool held = core::is_queue_held(*node);
    if (core::look_again(*node, core::generation_of(id)).valid) return held;
  }
  return tree_.missing(no_agent_text);
}

// After the end of the tree, any thread may come here.
void TreeQueries::log_missing_agent(std::string_view function) const noexcept {
  if (tree_.engine->on_loop_thread())
    tree_.engine->log(LogLevel::warning, "an observer was not added: its agent does not exist",
                      {{"function", function}});
}

Result<Agent> TreeQueries::parent(core::NodeId id) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  const Node* node = tree_.reach(id);
  const Node* up = node ? node->parent.load(std::memory_order_relaxed) : nullptr;
  if (!up || up->is_root_sentinel())
    return tree_.missing(node ? std::string_view("a root agent has no parent") : no_agent_text);
  return tree_.handle(up->id());
}

AgentRole TreeQueries::role(core::NodeId id) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  const Node* node = tree_.resolve(id);
  return node ? node->role.load(std::memory_order_relaxed) : AgentRole::normal;
}

std::vector<Agent> TreeQueries::children(core::NodeId id) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  std::vector<Agent> found;
  if (const Node* node = tree_.resolve(id))
    for (const Node* child = tree_.table.first_child(*node); child; child = tree_.table.next_sibling(*child))
      found.push_back(tree_.handle(child->id()));
  return found;
}

void TreeQueries::walk(const std::function<void(const Agent&)>& visit) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  const LoopEntry entry(tree_.lifetime);
  const Node& root = tree_.table.root_sentinel();
  const Node* node = tree_.is_closed() ? nullptr : tree_.table.first_child(root);
  while (node && !tree_.is_closed()) {
    const Agent agent = tree_.handle(node->id());
    if (!tree_.engine->guarded("AgentTree::walk", [&] { visit(agent); })) return;
    node = next_parent_first(tree_.table, root, *node, true);
  }
}

std::size_t TreeQueries::count_entries(std::string_view name) const {
  const core::NodeId id = tree_.table.names().find(name);
  std::size_t count = id && !tree_.is_closed() && tree_.table.find(id) ? 1 : 0;
  if (!name.empty() && name.front() != '@' && id) ++count;
  for (std::uint32_t index = 0; index < tree_.table.slots(); ++index) {
    const Node& node = tree_.table.slot(index);
    if (!node.load().is_free() && !node.is_root_sentinel() &&
        tree_.table.names().name_of(node, node.id()) == name)
      ++count;
  }
  return count;
}

}  // namespace agentcore::detail::tree
