#include "tree/agent_reads.hpp"

#include "core/gates.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/subtree_cursor.hpp"

#include <optional>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;

namespace {

std::optional<StopWhen> when_of(core::Grade grade) noexcept {
  if (grade == core::Grade::none) return std::nullopt;
  return grade == core::Grade::after_step ? StopWhen::after_step : StopWhen::after_turn;
}

const turn::TurnData* data_of(const Node& node) noexcept {
  return static_cast<const turn::TurnData*>(node.data.get());
}

}  // namespace

core::NodeId find_agent(const TreeShared& tree, std::string_view name) noexcept {
  if (tree.is_closed()) return 0;
  const Node* node = tree.table.find(name);
  return node ? tree.table.names().find(name) : 0;
}

std::string name_of(const TreeShared& tree, core::NodeId id) {
  const Node* node = tree.resolve(id);
  return node && !node->is_root_sentinel() ? tree.table.names().name_of(*node, id) : std::string();
}

bool exists(const TreeShared& tree, core::NodeId id) noexcept {
  const Node* node = tree.reach(id);
  return node && core::look_again(*node, core::generation_of(id)).valid;
}

// A message goes from the mailbox into `Node::message`, and its turn into the packed state. They are read in
// this order, and a step of the loop counts: so it is found wherever it is.
bool is_busy(TreeShared& tree, core::NodeId id) noexcept {
  const Node* node = tree.reach(id);
  if (!node || node->is_root_sentinel()) return false;
  tree.table.leases().check(*node);
  const bool waits = tree.steers.count(id) != 0 || tree.queue_length(*node, id) != 0;
  const bool in_turn = !tree.is_quiet(*node, false) || node->message.load(std::memory_order_acquire) != 0;
  const core::GateView view = core::look_again(*node, core::generation_of(id));
  if (!view.valid || view.effective == AgentState::stopped) return false;
  return waits || in_turn || view.effective != AgentState::idle;
}

Result<AgentState> state_of(TreeShared& tree, core::NodeId id) {
  if (const Node* node = tree.reach(id)) {
    tree.table.leases().check(*node);
    if (const core::GateView view = core::look_again(*node, core::generation_of(id)); view.valid)
      return view.effective;
  }
  return tree.missing(no_agent_text);
}

Result<AgentStatus> status_of(TreeShared& tree, core::NodeId id) {
  if (const Node* node = tree.reach(id)) {
    tree.table.leases().check(*node);
    const bool held = core::is_queue_held(*node);
    if (const core::GateView view = core::look_again(*node, core::generation_of(id)); view.valid)
      return AgentStatus{view.effective, view.paused, held, when_of(view.grade)};
  }
  return tree.missing(no_agent_text);
}

AgentRole role_of(const TreeShared& tree, core::NodeId id) {
  const Node* node = tree.resolve(id);
  return node ? node->role.load(std::memory_order_relaxed) : AgentRole::normal;
}

Result<Agent> parent_of(const TreeShared& tree, core::NodeId id) {
  const Node* node = tree.reach(id);
  const Node* up = node ? node->parent.load(std::memory_order_relaxed) : nullptr;
  if (!up || up->is_root_sentinel())
    return tree.missing(node ? std::string_view("a root agent has no parent") : no_agent_text);
  return tree.handle(up->id());
}

std::vector<Agent> children_of(const TreeShared& tree, core::NodeId id) {
  std::vector<Agent> found;
  if (const Node* node = tree.resolve(id))
    for (const Node* child = tree.table.first_child(*node); child; child = tree.table.next_sibling(*child))
      found.push_back(tree.handle(child->id()));
  return found;
}

void walk(const TreeShared& tree, const std::function<void(const Agent&)>& visit) {
  const LoopEntry entry(tree.lifetime);
  const Node& root = tree.table.root_sentinel();
  const Node* node = tree.is_closed() ? nullptr : tree.table.first_child(root);
  while (node && !tree.is_closed()) {
    const Agent agent = tree.handle(node->id());
    if (!tree.engine->guarded("AgentTree::walk", [&] { visit(agent); })) return;
    node = next_parent_first(tree.table, root, *node, true);
  }
}

std::string model_of(const TreeShared& tree, core::NodeId id) {
  const Node* node = tree.resolve(id);
  return node && node->spec ? node->spec->model.name : std::string();
}

std::optional<Error> problem_of_budget(Scope scope) {
  if (scope == Scope::agent || scope == Scope::subtree) return std::nullopt;
  return Error{Errc::invalid_config, "the scope of a budget is agent or subtree"};
}

Result<Spent> spent_of(const TreeShared& tree, core::NodeId id, Scope scope) {
  if (auto problem = problem_of_budget(scope)) return *std::move(problem);
  const Node* node = tree.resolve(id);
  const turn::TurnData* data = node ? data_of(*node) : nullptr;
  if (!data || !data->accounts) return Spent();
  return scope == Scope::subtree ? data->accounts->subtree.spent() : data->accounts->own.spent();
}

Result<std::vector<ChatMessage>> conversation_of(const TreeShared& tree, core::NodeId id) {
  Node* node = tree.resolve(id);
  if (!node || !node->spec) return std::vector<ChatMessage>();
  if (auto loaded = tree.load(*node); !loaded) return loaded.error();
  const std::string& prompt = turn::system_prompt_of(*node->spec);
  const turn::TurnData* data = data_of(*node);
  return data ? data->conversation.rendered(prompt) : turn::Conversation{}.rendered(prompt);
}

Result<std::vector<ChatMessage>> context_of(const TreeShared& tree, core::NodeId id) {
  Node* node = tree.resolve(id);
  if (!node || !node->spec) return std::vector<ChatMessage>();
  if (auto loaded = tree.load(*node); !loaded) return loaded.error();
  const std::string& prompt = turn::system_prompt_of(*node->spec);
  const turn::TurnData* data = data_of(*node);
  return data
             ? data->conversation.rendered(prompt, data->sent.now(), data->sent.summary(), 0, data->sent.cuts)
             : turn::Conversation{}.rendered(prompt);
}

Result<ConversationPage> page_of(const TreeShared& tree, core::NodeId id, std::size_t count,
                                 std::optional<std::size_t> end) {
  Node* node = tree.resolve(id);
  if (!node || !node->spec) return ConversationPage();
  if (auto loaded = tree.load(*node); !loaded) return loaded.error();
  const turn::TurnData* data = data_of(*node);
  const std::string& prompt = turn::system_prompt_of(*node->spec);
  if (!data) return turn::page_of(turn::Conversation{}, prompt, count, end);
  ConversationPage page = turn::page_of(data->conversation, prompt, count, end);
  if (const turn::ActiveTurn* const active = turn::active_turn(*node))
    for (const std::shared_ptr<turn::Call>& call : active->calls) {
      const std::size_t index = call->message + (prompt.empty() ? 0 : 1);
      if (call->state != turn::Call::State::done && index - page.first < page.messages.size())
        page.open_calls.push_back(index);
    }
  return page;
}

MessageInfo message_info(TreeShared& tree, turn::Turns& turns, MessageId id) {
  if (tree.is_closed()) return {};
  const core::NameTable& names = tree.table.names();
  if (const turn::EndedTurns::Entry* const ended = turns.ended().find(id))
    if (const Node* const node = tree.table.find(ended->agent))
      return {MessageInfo::Stage::ended, names.name_of(*node, ended->agent), ended->turn, ended->result};
  const std::uint32_t number = tree.pool.find(id);
  if (!number || tree.pool.id_of(number) != id || tree.pool.is_withdrawn(tree.pool[number])) return {};
  const core::NodeId agent = tree.pool[number].agent.load(std::memory_order_relaxed);
  Node* const node = tree.table.find(agent);
  if (!node) return {};
  if (node->message.load(std::memory_order_relaxed) == number)
    return {MessageInfo::Stage::running, names.name_of(*node, agent), node->turns, nullptr};
  mailbox::collect(*node, tree.pool);
  if (!tree.waits(*node, number)) return {};  // a verb has dropped it
  return {MessageInfo::Stage::queued, names.name_of(*node, agent), 0, nullptr};
}

std::size_t count_entries(const TreeShared& tree, std::string_view name) {
  const core::NodeId id = tree.table.names().find(name);
  std::size_t count = id && !tree.is_closed() && tree.table.find(id) ? 1 : 0;
  if (!name.empty() && name.front() != '@' && id) ++count;
  for (std::uint32_t index = 0; index < tree.table.slots(); ++index) {
    const Node& node = tree.table.slot(index);
    if (!node.load().is_free() && !node.is_root_sentinel() &&
        tree.table.names().name_of(node, node.id()) == name)
      ++count;
  }
  return count;
}

}  // namespace agentcore::detail::tree
