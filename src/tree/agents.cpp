// Creating agents and looking around in the tree: the loop thread's side of AgentTree.
#include "core/validate.hpp"
#include "tree/options.hpp"
#include "tree/tree_core.hpp"

#include <cassert>
#include <utility>

namespace agentcore::tree {

using core::Node;

namespace {

bool is_usual(const ContextOptions& options) {
  const ContextOptions usual;
  return !options.count_tokens && options.max_tokens == usual.max_tokens &&
         options.target_tokens == usual.target_tokens &&
         options.min_conversation_tokens == usual.min_conversation_tokens;
}

Error out_of_memory() noexcept {
  return {Errc::out_of_memory, "out of memory"};  // a short text: no allocation
}

// True when no field is set. A field with a value that makes no sense counts as set.
bool is_none(const Budget& budget) noexcept {
  return budget.turns == 0 && budget.tokens == 0 && budget.cost == 0 && budget.wall_clock == Duration::zero();
}

bool is_none(const Prices& prices) noexcept {
  return prices.prompt == 0 && prices.completion == 0 && !prices.cached_prompt;
}

// True for a spec in which at most the id is set: all such agents share one spec. The fields that say how
// tools are called matter only where `tools` is set.
bool is_plain(const AgentSpec& spec) {
  return spec.system_prompt.empty() && spec.model.empty() && !spec.llm && !spec.handler &&
         spec.role == AgentRole::normal && spec.mailbox_limit == 0 && !spec.auto_resume &&
         !spec.temperature && !spec.max_tokens && spec.reasoning_effort.empty() &&
         spec.response_format == ResponseFormat{} && spec.tool_choice == ToolChoice{} && !spec.tools &&
         spec.history.empty() && is_none(spec.budget) && is_none(spec.subtree_budget) &&
         is_none(spec.prices) && is_usual(spec.context);
}

}  // namespace

Node* TreeCore::resolve(core::NodeId id) const noexcept {
  return closed() ? nullptr : table_.find(id);
}

Error TreeCore::missing(std::string_view text) const {
  const Errc reason = missing();
  return {reason, std::string(reason == Errc::runtime_gone ? runtime_gone_text : text)};
}

// Why nothing can be created below `parent`.
Error TreeCore::refusal(core::NodeId parent) const {
  const Result<AgentState> found = state(parent);
  if (!found) return found.error();
  switch (*found) {
    case AgentState::stopping:
      return {Errc::agent_stopping, "the parent is stopping; nothing can be created below it"};
    case AgentState::stopped:
      return {Errc::agent_stopped, "the parent is stopped; resume it first"};
    case AgentState::terminating:
      return {Errc::agent_terminating, "the parent is being deleted"};
    default:
      return {Errc::agent_stopped, "the child was stopped or deleted while it was being created"};
  }
}

Result<Agent> TreeCore::create(core::NodeId parent, AgentSpec spec) {
  std::string id = std::move(spec.id);
  spec.id.clear();
  if (is_plain(spec)) return create(parent, plain_spec_, std::move(id));
  try {
    return create(parent, std::make_shared<const AgentSpec>(std::move(spec)), std::move(id));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

Result<Agent> TreeCore::create(core::NodeId parent_id, SharedAgentSpec spec, std::string id) {
  assert(closed() || engine_->on_loop_thread());
  Node* parent = reach(parent_id);
  if (!parent) return missing("the parent does not exist (any more)");
  if (!spec) return Error{Errc::invalid_config, "the shared AgentSpec is null"};
  try {
    if (const auto problem = check_spec(*spec)) return *problem;
    if (!id.empty() && !core::NameTable::is_valid(id))
      return Error{Errc::invalid_agent_id,
                   "an agent id is 1 to 255 bytes of UTF-8 and does not begin with '@'"};
    if (parent->depth >= options_.max_depth)
      return Error{Errc::depth_limit, "the tree would become deeper than TreeOptions::max_depth (" +
                                          std::to_string(options_.max_depth) + ")"};
    if (table_.alive() >= options_.max_agents)
      return Error{Errc::agent_limit, "the tree holds TreeOptions::max_agents agents already"};
    const core::Stepping stepping(table_, *parent);  // an action of the parent's (G1)
    if (!core::look(*parent, core::generation_of(parent_id)).open()) return refusal(parent_id);
    return insert(*parent, std::move(spec), std::move(id));
  } catch (const std::bad_alloc&) {  // insert() has undone its changes
    return out_of_memory();
  }
}

// Removes a new agent again. No observer has been notified of it.
void TreeCore::withdraw(Node& node) noexcept {
  mailbox::close(node, pool_, node.load().epoch() + 1);
  table_.erase(node);
}

Result<Agent> TreeCore::insert(Node& parent, SharedAgentSpec spec, std::string id) {
  std::unique_ptr<turn::TurnData> data;
  if (!spec->history.empty()) {
    data = std::make_unique<turn::TurnData>();
    data->conversation.restore(spec->history);
  }
  Node& node = table_.insert(parent);
  const core::Word word = node.load();
  node.mailbox_limit.store(spec->mailbox_limit ? spec->mailbox_limit : options_.mailbox_limit,
                           std::memory_order_relaxed);
  node.role.store(spec->role, std::memory_order_relaxed);
  node.auto_resume.store(spec->auto_resume, std::memory_order_relaxed);
  // From here on other threads may find it.
  bool added = id.empty();
  try {
    if (!added) added = table_.names().add(id, node);
  } catch (...) {
    table_.erase(node);
    throw;
  }
  if (!added) {
    table_.erase(node);
    return Error{Errc::agent_exists, "the id '" + id + "' is taken"};
  }
  node.spec = std::move(spec);
  node.turns = 0;
  node.data = std::move(data);
  node.door.store(mailbox::Door::open(word.generation()).raw(), std::memory_order_release);
  // The second look: a gate that was closed while the child was being linked refuses it (G2). One that closes
  // from now on finds it inside.
  if (!core::look(node, word.generation()).open()) {
    withdraw(node);
    return refusal(parent.id());
  }
  try {
    if (node.spec->budget.limits()) turns_.grant(node, node.spec->budget, false);
    if (node.spec->subtree_budget.limits()) turns_.grant(node, node.spec->subtree_budget, true);
  } catch (...) {
    withdraw(node);
    throw;
  }
  Agent agent = handle(node.id());
  hub_.tell(node, [](Agent borrowed) { return AgentCreated{std::move(borrowed)}; });
  return agent;
}

std::size_t TreeCore::clear_queue(core::NodeId id) {
  assert(closed() || engine_->on_loop_thread());
  Node* node = resolve(id);
  return node && node->load().is_open() ? mailbox::clear(*node, pool_) : 0;
}

std::vector<ChatMessage> TreeCore::conversation(core::NodeId id) const {
  assert(closed() || engine_->on_loop_thread());
  const Node* node = resolve(id);
  if (!node || !node->spec) return {};
  const std::string& prompt = turn::system_prompt_of(*node->spec);
  if (node->data) return static_cast<const turn::TurnData&>(*node->data).conversation.rendered(prompt);
  return turn::Conversation{}.rendered(prompt);
}

std::vector<ChatMessage> TreeCore::context(core::NodeId id) const {
  assert(closed() || engine_->on_loop_thread());
  const Node* node = resolve(id);
  if (!node || !node->spec) return {};
  const std::string& prompt = turn::system_prompt_of(*node->spec);
  if (!node->data) return turn::Conversation{}.rendered(prompt);
  const auto& data = static_cast<const turn::TurnData&>(*node->data);
  return data.conversation.rendered(prompt, data.sent.messages);
}

Spent TreeCore::spent(core::NodeId id, bool subtree) const {
  assert(closed() || engine_->on_loop_thread());
  const Node* node = resolve(id);
  const auto* data = node ? static_cast<const turn::TurnData*>(node->data.get()) : nullptr;
  if (!data || !data->accounts) return {};
  return subtree ? data->accounts->subtree.spent() : data->accounts->own.spent();
}

GrantResult TreeCore::grant(core::NodeId id, const Budget& budget, bool subtree) {
  assert(closed() || engine_->on_loop_thread());
  Node* node = reach(id);
  if (!node) {
    Error problem = missing("no such agent (any more)");
    return {false, problem.code, std::move(problem.message)};
  }
  try {
    if (const auto problem = core::Validation("Budget").budget("", budget).problem())
      return {false, problem->code, problem->message};
    turns_.grant(*node, budget, subtree);
    return {true, Errc::none, {}};
  } catch (const std::bad_alloc&) {  // the budget before is unchanged
    return {false, Errc::out_of_memory, "out of memory"};
  }
}

AnswerResult TreeCore::answer(std::string_view question_id, Answer answer) {
  assert(closed() || engine_->on_loop_thread());
  if (engine_->closed()) return {false, Errc::runtime_gone};
  if (closed()) return {false, Errc::question_not_found};
  const Inside inside(*this);
  return turns_.answer(question_id, std::move(answer));
}

std::vector<OpenQuestion> TreeCore::questions() const {
  assert(closed() || engine_->on_loop_thread());
  return closed() ? std::vector<OpenQuestion>{} : turns_.questions();
}

std::vector<RunningTask> TreeCore::tasks() const {
  assert(closed() || engine_->on_loop_thread());
  return closed() ? std::vector<RunningTask>{} : turns_.tasks();
}

bool TreeCore::cancel_task(std::string_view task_id) {
  assert(closed() || engine_->on_loop_thread());
  const Inside inside(*this);
  return !closed() && !engine_->closed() && turns_.cancel_task(task_id);
}

Result<Agent> TreeCore::parent(core::NodeId id) {
  assert(closed() || engine_->on_loop_thread());
  const Node* node = reach(id);
  const Node* up = node ? node->parent.load(std::memory_order_relaxed) : nullptr;
  if (!up || up->is_trunk()) return missing(node ? "a root agent has no parent" : "no such agent");
  return handle(up->id());
}

std::vector<Agent> TreeCore::children(core::NodeId id) {
  assert(closed() || engine_->on_loop_thread());
  std::vector<Agent> found;
  if (const Node* node = resolve(id))
    for (const Node* child = table_.first_child(*node); child; child = table_.next_sibling(*child))
      found.push_back(handle(child->id()));
  return found;
}

void TreeCore::walk(const std::function<void(const Agent&)>& visit) {
  assert(closed() || engine_->on_loop_thread());
  const Inside inside(*this);
  const Node* node = closed() ? nullptr : table_.first_child(table_.trunk());
  while (node && !closed()) {
    const Agent agent = handle(node->id());
    if (!engine_->guarded("AgentTree::walk", [&] { visit(agent); })) return;
    const Node* next = table_.first_child(*node);
    for (const Node* up = node; !next && !up->is_trunk(); up = up->parent.load(std::memory_order_relaxed))
      next = table_.next_sibling(*up);
    node = next;
  }
}

std::size_t TreeCore::count_references(std::string_view name) const {
  const core::NodeId id = table_.names().find(name);
  std::size_t count = id && !closed() && table_.find(id) ? 1 : 0;
  if (!name.empty() && name.front() != '@' && id) ++count;
  for (std::uint32_t index = 0; index < table_.slots(); ++index) {
    const Node& node = table_.slot(index);
    if (!node.load().is_free() && !node.is_trunk() && table_.names().name_of(node, node.id()) == name)
      ++count;
  }
  count += id ? settler_.references(id) + turns_.open_questions(id) : 0;
  for (std::uint32_t slot = 0; slot < turns_.flights().slots(); ++slot) {
    const turn::Flight& flight = turns_.flights()[slot];
    if (flight.node && flight.agent == id) ++count;
  }
  return count;
}

}  // namespace agentcore::tree
