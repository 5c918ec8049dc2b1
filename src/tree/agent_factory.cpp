#include "tree/agent_factory.hpp"

#include "core/agent_access.hpp"
#include "core/gates.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/agent_documents.hpp"
#include "tree/options.hpp"
#include "turn/request_ends.hpp"

#include <cassert>
#include <new>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;
using core::PackedState;

namespace {

bool is_usual(const ContextOptions& options) {
  const ContextOptions usual;
  return !options.count_tokens && !options.compact && options.archive_bytes == usual.archive_bytes &&
         options.max_tokens == usual.max_tokens && options.target_tokens == usual.target_tokens &&
         options.min_conversation_tokens == usual.min_conversation_tokens &&
         options.volatile_place == usual.volatile_place;
}

Error out_of_memory() noexcept {
  return {Errc::out_of_memory, "out of memory"};  // a short text: no allocation
}

// True when no field is set. A field with an invalid value counts as set.
bool is_none(const Budget& budget) noexcept {
  return !budget.limits();
}

bool is_none(const Prices& prices) noexcept {
  return prices.prompt == 0 && prices.completion == 0 && !prices.cached_prompt && !prices.cache_write;
}

// True if the fields about how tools are called have their defaults. Agent::set_tools() may add tools later.
bool calls_tools_as_usual(const AgentSpec& spec) {
  static const AgentSpec usual;
  return !spec.tools && !spec.tool_policy && spec.tool_protocol == usual.tool_protocol &&
         spec.limits.tool_rounds == usual.limits.tool_rounds && spec.limits.repairs == usual.limits.repairs &&
         spec.limits.parallel_tools == usual.limits.parallel_tools &&
         spec.limits.background_tasks == usual.limits.background_tasks;
}

// True for a spec in which at most the id is set: all such agents share one spec.
bool is_plain(const AgentSpec& spec) {
  return spec.system_prompt.empty() && spec.model.name.empty() && !spec.llm && !spec.handler &&
         spec.role == AgentRole::normal && !spec.limits.mailbox && !spec.auto_resume &&
         !spec.model.temperature && !spec.model.max_tokens && !spec.model.top_p &&
         spec.model.stop_sequences.empty() && spec.model.stream && !spec.model.parallel_tool_calls &&
         spec.model.reasoning_effort.empty() && spec.model.response_format == ResponseFormat{} &&
         spec.model.tool_choice == ToolChoice{} && calls_tools_as_usual(spec) && spec.history.empty() &&
         is_none(spec.limits.budget) && is_none(spec.limits.subtree_budget) && is_none(spec.model.prices) &&
         spec.model.cache_key.empty() && is_usual(spec.context) && spec.limits.turn_timeout == no_limit &&
         spec.limits.lease == no_limit && spec.partial_answers == PartialAnswers::drop &&
         spec.code == CodeNames{};
}

// False: some of the code that the spec names is not set.
bool has_its_code(const AgentSpec& spec) noexcept {
  const CodeNames& names = spec.code;
  return (names.llm.empty() || spec.llm) && (names.tools.empty() || spec.tools) &&
         (names.handler.empty() || spec.handler) && (names.tool_policy.empty() || spec.tool_policy) &&
         (names.count_tokens.empty() || spec.context.count_tokens) &&
         (names.summary_llm.empty() || !spec.context.compact || spec.context.compact->llm);
}

// The data of an agent that begins with a history; otherwise null.
std::unique_ptr<turn::TurnData> data_for(const AgentSpec& spec) {
  if (spec.history.empty()) return nullptr;
  auto data = std::make_unique<turn::TurnData>();
  data->conversation.restore(spec.history);
  data->sent.request_ends = turn::ends_of_history(data->conversation.messages());
  return data;
}

// How many turns, from the first, end with turn `at`; without a number, those that have ended. Nothing: there
// is no such turn, or it is in progress.
std::optional<std::size_t> turns_up_to(const turn::Conversation& conversation,
                                       std::optional<std::uint64_t> at) {
  const std::vector<turn::TurnPlace>& turns = conversation.turns();
  const std::size_t ended = turns.size() - (conversation.is_open() ? 1 : 0);
  if (!at) return ended;
  for (std::size_t i = 0; i < ended; ++i)
    if (turns[i].turn == *at) return i + 1;
  return std::nullopt;
}

// During its lifetime, the store knows of which agent the next one is a fork.
class OriginOfFork {
 public:
  OriginOfFork(persist::Recorder* recorder, Node* origin) : recorder_(recorder) {
    if (recorder_) recorder_->set_origin(origin);
  }
  ~OriginOfFork() {
    if (recorder_) recorder_->set_origin(nullptr);
  }
  OriginOfFork(const OriginOfFork&) = delete;
  OriginOfFork& operator=(const OriginOfFork&) = delete;

 private:
  persist::Recorder* recorder_;
};

}  // namespace

// Why nothing can be created below `parent`.
Error AgentFactory::refusal(core::NodeId parent) const {
  const Node* node = tree_.reach(parent);
  if (!node) return tree_.missing(no_agent_text);
  const core::GateView view = core::look_again(*node, core::generation_of(parent));
  if (!view.valid) return tree_.missing(no_agent_text);
  const bool is_tree = node->is_root_sentinel();  // a root agent is created
  switch (view.effective) {
    case AgentState::stopping:
      return {Errc::agent_stopping,
              is_tree ? "the tree is stopping; call AgentTree::resume_all() after the stop has ended"
                      : "the parent, or an ancestor of it, is stopping; resume it after the stop has ended"};
    case AgentState::stopped:
      return {Errc::agent_stopped, is_tree ? "the tree is stopped; call AgentTree::resume_all() first"
                                           : "the parent, or an ancestor of it, is stopped; resume it first"};
    case AgentState::terminating:
      return {Errc::agent_terminating, "the parent, or an ancestor of it, is being deleted"};
    default:
      return {Errc::agent_stopped, "another thread stopped the child, or deleted it, during its creation"};
  }
}

Result<Agent> AgentFactory::create(core::NodeId parent, AgentSpec spec, std::vector<Agent>* keeper) {
  std::string id = std::move(spec.id);
  spec.id.clear();
  if (auto problem = bind(spec)) return *std::move(problem);
  if (is_plain(spec)) return create(parent, plain_spec_, std::move(id), keeper);
  try {
    return create(parent, std::make_shared<const AgentSpec>(std::move(spec)), std::move(id), keeper);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

// Sets the code that the spec only names; in a tree with a store.
std::optional<Error> AgentFactory::bind(AgentSpec& spec) const {
  if (!tree_.persistence || spec.code == CodeNames{}) return std::nullopt;
  const std::string missing = tree_.persistence->options().code.bind(spec);
  if (missing.empty()) return std::nullopt;
  return Error{Errc::invalid_config, "AgentSpec::code: " + missing +
                                         " is not in RestoreOptions::code; add it, or set the field itself"};
}

Result<Agent> AgentFactory::create(core::NodeId parent, SharedAgentSpec spec, std::string id,
                                   std::vector<Agent>* keeper) {
  if (spec && tree_.persistence && !has_its_code(*spec)) try {
      auto bound = std::make_shared<AgentSpec>(*spec);
      if (auto problem = bind(*bound)) return *std::move(problem);
      spec = std::move(bound);
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  return create(parent, std::move(spec), std::move(id), nullptr, keeper);
}

void AgentFactory::set_accounts(Node& node, const persist::AgentRecord& record) {
  const auto set_one = [&](const std::optional<persist::AccountRecord>& account, bool subtree) {
    if (!account) return;
    turns_.grant(node, account->budget, subtree);
    turn::Accounts& accounts = *turn::data_of(node).accounts;
    (subtree ? accounts.subtree : accounts.own).restore(account->spent, account->expired);
  };
  set_one(record.own, false);
  set_one(record.subtree, true);
}

AgentDocuments AgentFactory::documents() noexcept {
  return {tree_, *this};
}

Result<Agent> AgentFactory::fork(core::NodeId origin, ForkOptions&& options) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  Node* node = tree_.reach(origin);
  if (!node || !node->spec) return tree_.missing(no_agent_text);
  if (look(*node, origin).effective == AgentState::terminating)
    return Error{Errc::agent_terminating, "the agent is being deleted"};
  const LoopEntry entry(tree_.lifetime);
  if (auto loaded = tree_.load(*node); !loaded) return loaded.error();
  try {
    auto spec = std::make_shared<AgentSpec>(*node->spec);
    spec->system_prompt = turn::system_prompt_of(*node->spec);
    spec->history.clear();
    spec->limits.lease = no_limit;
    // What a provider has cached for the origin serves the fork, too.
    spec->model.cache_key = turn::cache_key_of(*node->spec, tree_.table.names().name_of(*node, origin));
    auto data = std::make_unique<turn::TurnData>();
    const auto* const own = static_cast<const turn::TurnData*>(node->data.get());
    const auto turns = turns_up_to(own ? own->conversation : data->conversation, options.at);
    if (!turns)
      return Error{Errc::turn_not_found,
                   "ForkOptions::at: turn " + std::to_string(*options.at) +
                       " is not in the conversation of the agent, or it is in progress; see Agent::turns()"};
    if (own) {
      data->conversation = own->conversation.first_turns(*turns);
      data->tool_turns = own->tool_turns;
      data->sent = own->sent;
      data->sent.keep_first(data->conversation.messages().size(), data->conversation);
    }
    data->origin = origin;
    const Node* const parent = node->parent.load(std::memory_order_relaxed);
    const OriginOfFork in_store(tree_.recorder(), node);
    return create(parent->id(), std::move(spec), std::move(options.id), std::move(data), nullptr);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

Result<Agent> AgentFactory::create(core::NodeId parent, SharedAgentSpec spec, std::string id,
                                   std::unique_ptr<turn::TurnData> data, std::vector<Agent>* keeper) {
  const LoopEntry entry(tree_.lifetime);
  Result<Agent> made = add(parent, std::move(spec), std::move(id), std::move(data));
  if (made && keeper) keeper->push_back(*made);
  if (made) announce(*tree_.table.find(core::AgentAccess::node(*made)));
  return made;
}

void AgentFactory::announce(Node& node) noexcept {
  const core::ActiveAgentGuard active(tree_.table, *node.parent.load(std::memory_order_relaxed));
  hub_.emit(node, [](Agent borrowed) { return AgentCreated{std::move(borrowed)}; });
}

Result<Agent> AgentFactory::add(core::NodeId parent_id, SharedAgentSpec spec, std::string id,
                                std::unique_ptr<turn::TurnData> data) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  Node* parent = tree_.reach(parent_id);
  if (!parent) return tree_.missing(no_agent_text);
  if (!spec) return Error{Errc::invalid_config, "the shared AgentSpec is null; pass a spec"};
  try {
    if (auto problem = problem_of(*parent, *spec, id)) return *std::move(problem);
    const core::ActiveAgentGuard active(tree_.table, *parent);  // an action of the parent's (G1)
    tree_.table.leases().check(*parent);
    if (!core::look(*parent, core::generation_of(parent_id)).open()) return refusal(parent_id);
    auto answer_check = turns_.answer_check(spec->model.response_format);
    if (!answer_check) return answer_check.error();
    if (!data) data = data_for(*spec);
    if (!data && *answer_check) data = std::make_unique<turn::TurnData>();
    if (data) data->answer_check = *std::move(answer_check);
    return insert(*parent, std::move(spec), std::move(id), std::move(data));
  } catch (const std::bad_alloc&) {  // insert() has undone its changes
    return out_of_memory();
  }
}

// Why no such agent can be created, whatever the gates say.
std::optional<Error> AgentFactory::problem_of(const Node& parent, const AgentSpec& spec,
                                              const std::string& id) const {
  if (auto problem = check_spec(spec)) return problem;
  if (!id.empty() && !core::NameTable::is_valid(id))
    return Error{Errc::invalid_agent_id,
                 "AgentSpec::id must be 1 to 255 bytes of UTF-8 and must not begin with '@'"};
  if (parent.depth >= tree_.options.max_depth)
    return Error{Errc::depth_limit, "the tree would become deeper than TreeOptions::max_depth (" +
                                        std::to_string(tree_.options.max_depth) + ")"};
  if (tree_.table.alive() >= tree_.options.max_agents)
    return Error{Errc::agent_limit, "the tree has as many agents as TreeOptions::max_agents allows (" +
                                        std::to_string(tree_.options.max_agents) + ")"};
  return std::nullopt;
}

Result<Agent> AgentFactory::insert(Node& parent, SharedAgentSpec spec, std::string id,
                                   std::unique_ptr<turn::TurnData> data) {
  Node& node = tree_.table.insert(parent);
  set_options(node, *spec);
  bool added = id.empty();
  try {
    if (!added) added = tree_.table.names().add(id, node);  // from here on other threads may find it
  } catch (...) {
    tree_.table.erase(node);
    throw;
  }
  if (!added) {
    tree_.table.erase(node);
    return Error{Errc::agent_exists, "an agent with the id '" + id + "' exists already"};
  }
  try {
    begin_lease(node, *spec);
    if (data && data->origin != 0) tree_.forks.add(data->origin, node.id());
  } catch (...) {
    tree_.table.erase(node);
    throw;
  }
  fill(node, std::move(spec), std::move(data));
  // The second check: if a gate was closed while the child was being linked, the child is refused (G2). A
  // gate that closes later applies to the linked child.
  if (!core::look(node, core::generation_of(node.id())).open()) {
    withdraw(node);
    return refusal(parent.id());
  }
  grant_budgets(node);
  return tree_.handle(node.id());
}

Node& AgentFactory::place(Node& parent, const RestoredAgent& agent) {
  Node& node = tree_.table.insert_reserved(parent, agent.packed, agent.id);
  set_options(node, *agent.spec);
  if (!agent.name.empty()) tree_.table.names().add(agent.name, node);
  begin_lease(node, *agent.spec);
  std::unique_ptr<turn::TurnData> data;
  if (agent.answer_check) {
    data = std::make_unique<turn::TurnData>();
    data->answer_check = agent.answer_check;
  }
  fill(node, agent.spec, std::move(data));
  node.turns = agent.turns;
  return node;
}

// The members that verbs and senders on other threads read.
void AgentFactory::set_options(Node& node, const AgentSpec& spec) const noexcept {
  node.mailbox_limit.store(spec.limits.mailbox.value_or(tree_.options.mailbox_limit),
                           std::memory_order_relaxed);
  node.role.store(spec.role, std::memory_order_relaxed);
  node.auto_resume.store(spec.auto_resume, std::memory_order_relaxed);
}

// Before the mailbox is open. If it throws, nothing has changed.
void AgentFactory::begin_lease(Node& node, const AgentSpec& spec) {
  if (spec.limits.lease == no_limit) return;
  tree_.table.leases().add(node, tree_.engine->clock(), spec.limits.lease);
  PackedState packed = node.load();
  while (!node.replace(packed, packed.with(core::layout::lease, true))) {
  }
}

// Gives a linked agent its spec and its history, and opens its mailbox.
void AgentFactory::fill(Node& node, SharedAgentSpec spec, std::unique_ptr<turn::TurnData> data) {
  turn::use_tools(*spec, tree_.engine);
  node.spec = std::move(spec);
  const bool has_turns = data && !data->conversation.turns().empty();
  node.turns = has_turns ? static_cast<std::uint32_t>(data->conversation.turns().back().turn) : 0;
  node.data = std::move(data);
  const auto empty =
      mailbox::Head::open(node.load().generation(), node.taken.load(std::memory_order_relaxed));
  node.mailbox_head.store(empty.raw(), std::memory_order_release);
}

// If it throws, the agent is removed again.
void AgentFactory::grant_budgets(Node& node) {
  try {
    if (node.spec->limits.budget.limits()) turns_.grant(node, node.spec->limits.budget, false);
    if (node.spec->limits.subtree_budget.limits()) turns_.grant(node, node.spec->limits.subtree_budget, true);
  } catch (...) {
    withdraw(node);
    throw;
  }
}

// Removes a new agent again. No observer has been notified of it.
void AgentFactory::withdraw(Node& node) noexcept {
  // The host has no handle of it yet. A message of another thread that has found it by its id is lost.
  static_cast<void>(mailbox::close(node, tree_.pool, node.load().epoch() + 1));
  tree_.forks.remove(tree_.table, node, nullptr);
  tree_.table.erase(node);
}

}  // namespace agentcore::detail::tree
