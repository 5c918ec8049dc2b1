#include "tree/agent_documents.hpp"

#include "core/agent_access.hpp"
#include "core/gates.hpp"
#include "loop/time.hpp"
#include "mailbox/without_limit.hpp"
#include "persist/context_record.hpp"
#include "tree/options.hpp"
#include "turn/request_ends.hpp"

#include <agentcore/display.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace agentcore::detail::tree {

using core::AgentAccess;
using core::Node;
using persist::AgentDocument;
using persist::AgentRecord;
using persist::DocumentAgent;

namespace {

Result<std::vector<persist::MailRecord>> mail_of(const Agent& agent, const loop::Engine& engine) {
  std::vector<persist::MailRecord> mail;
  Result<std::vector<QueuedMessage>> queued = agent.queued();
  if (!queued) return queued.error();
  for (QueuedMessage& message : *queued) {
    if (message.simulated) continue;  // a document must not make tools run
    persist::MailRecord& record = mail.emplace_back();
    record.message = std::move(message.message);
    if (message.deadline) record.deadline = loop::wall_deadline(*message.deadline, engine.clock());
  }
  return mail;
}

// Memory that is freed before agents are deleted for lack of memory.
constexpr std::size_t undo_bytes = std::size_t{16} << 10;

void require_memory(Errc refusal) {
  if (refusal == Errc::out_of_memory) throw std::bad_alloc();
}

// What a document does not have of an agent on account of the agents above it.
persist::AboveDocument above(const Node& node) noexcept {
  persist::AboveDocument found;
  for (const Node* up = node.parent.load(std::memory_order_relaxed); up;
       up = up->parent.load(std::memory_order_relaxed)) {
    const core::PackedState packed = up->load();
    found.is_closed =
        found.is_closed || packed.closes_subtree() || core::grade_for(node, *up, packed) != core::Grade::none;
    found.is_paused = found.is_paused || packed.is_paused();
    found.is_held = found.is_held || (packed.is_held() && up->extends_below(Node::hold_below));
  }
  return found;
}

bool works_for_call(const Node& node) noexcept {
  const auto* const data = static_cast<const turn::TurnData*>(node.data.get());
  return data && data->of_call;
}

// Also by a delete that is pending, or that waits for a stop.
bool is_deleted(const Node& node) noexcept {
  return node.load().gate() == core::Gate::terminate || node.extends_below(Node::grade_deletes);
}

Error out_of_memory_of_document() {
  return {Errc::out_of_memory, "out of memory"};
}

}  // namespace

Result<std::string> AgentDocuments::export_agents(core::NodeId root, const ExportOptions& options) {
  if (options.scope != Scope::agent && options.scope != Scope::subtree)
    return Error{Errc::invalid_config, "ExportOptions::scope is neither agent nor subtree"};
  Node* const node = tree_.reach(root);
  if (!node || !node->spec) return tree_.missing(no_agent_text);
  if (auto problem = problem_of(*node)) return *std::move(problem);
  const LoopEntry entry(tree_.lifetime);
  try {
    AgentDocument document;
    std::vector<std::pair<Node*, std::uint64_t>> open{{node, 0}};  // with the number of the parent
    while (!open.empty()) {
      const auto [next, parent] = open.back();
      open.pop_back();
      tree_.table.leases().check(*next);
      if (auto added = add(*next, parent, document); !added) return added.error();
      const std::uint64_t number = document.agents.size();
      if (options.scope == Scope::subtree)  // the newest comes first in the list, and last from the stack
        for (Node* child = tree_.table.first_child(*next); child; child = tree_.table.next_sibling(*child)) {
          if (!is_deleted(*child) && !works_for_call(*child)) open.emplace_back(child, number);
        }
    }
    if (node->spec->role == AgentRole::user && above(*node).is_closed) close_below_first(document);
    return to_json(document);
  } catch (const std::bad_alloc&) {
    return out_of_memory_of_document();
  }
}

// Why the agent is in no document.
std::optional<Error> AgentDocuments::problem_of(const Node& node) {
  bool deletes = false, of_call = false;
  for (const Node* up = &node; up; up = up->parent.load(std::memory_order_relaxed)) {
    deletes = deletes || is_deleted(*up);
    of_call = of_call || works_for_call(*up);
  }
  if (deletes) return Error{Errc::agent_terminating, "the agent is being deleted"};
  if (of_call)
    return Error{Errc::agent_not_found,
                 "the agent works for one tool call, with which it ends; export the agent of the call"};
  return std::nullopt;
}

Result<void> AgentDocuments::add(Node& node, std::uint64_t parent, AgentDocument& document) {
  if (auto loaded = tree_.load(node); !loaded) return loaded;
  DocumentAgent agent;
  agent.record = record_of(node);
  agent.record.parent = parent;
  agent.record.spec = spec_of(node, document);
  bool in_turn = false;
  if (const auto* const data = static_cast<const turn::TurnData*>(node.data.get())) {
    agent.conversation = {data->conversation.messages(), data->conversation.turns()};
    agent.sent = data->sent;
    in_turn = data->conversation.is_open();
  }
  auto mail = mail_of(tree_.handle(node.id()), *tree_.engine);
  if (!mail) return mail.error();
  agent.mail = *std::move(mail);
  const persist::AboveDocument outside = above(node);
  make_portable(agent, in_turn, parent == 0 ? &outside : nullptr);
  document.agents.push_back(std::move(agent));
  return {};
}

// Also of a limit of the spec that was lifted: else the spec would bring it back.
std::optional<persist::AccountRecord> AgentDocuments::account_of(const turn::Account* account,
                                                                 const Budget& of_spec) const {
  if (account && account->limits()) return persist::account_record(*account, *tree_.engine);
  return of_spec.limits() ? std::optional(persist::AccountRecord()) : std::nullopt;
}

// What a store would have of it, as far as it is portable.
AgentRecord AgentDocuments::record_of(const Node& node) const {
  const core::PackedState packed = node.load();
  AgentRecord record;
  if (node.name.load(std::memory_order_relaxed)) record.name = tree_.table.names().name_of(node, node.id());
  record.gate = packed.gate();
  record.grade = packed.stop_grade();
  record.grade_below = node.grade_of_descendants();
  record.stopped_by_ancestor = node.settling.stopped_by_ancestor;
  if (node.extends_below(Node::stays_stopped)) {  // by a stop of its own, below one of an ancestor
    if (record.gate == core::Gate::open) record.gate = core::Gate::stop_self;
    record.stopped_by_ancestor = false;
  }
  record.paused = packed.is_paused();
  record.held = packed.is_held();
  record.holds_below = record.held && node.extends_below(Node::hold_below);
  record.turns = node.turns;
  const auto* const data = static_cast<const turn::TurnData*>(node.data.get());
  const turn::Accounts* const accounts = data ? data->accounts.get() : nullptr;
  record.own = account_of(accounts ? &accounts->own : nullptr, node.spec->limits.budget);
  record.subtree = account_of(accounts ? &accounts->subtree : nullptr, node.spec->limits.subtree_budget);
  if (!data) return record;
  record.tool_turns = data->tool_turns;
  record.summary_tokens = data->summary_tokens;
  record.ended_tasks = data->ended_tasks;
  record.tool_children = data->tool_children;
  return record;
}

std::size_t AgentDocuments::spec_of(const Node& node, AgentDocument& document) {
  const auto [found, is_new] = specs_.emplace(node.spec.get(), document.specs.size());
  if (is_new) document.specs.push_back(persist::to_json(*node.spec));
  return found->second;
}

Result<ImportReport> AgentDocuments::import_agents(std::string_view text, ImportOptions&& options) {
  const LoopEntry entry(tree_.lifetime);
  try {
    if (options.parent != Agent() && !tree_.owns(options.parent))
      return Error{Errc::agent_not_found, "ImportOptions::parent is an agent of another tree"};
    const std::uint32_t most = tree_.options.max_agents;
    const std::size_t room = most - std::min(tree_.table.alive(), most);
    Result<AgentDocument> document = persist::read_document(text, {options.max_bytes, room, most});
    if (!document) return document.error();
    if (auto problem = problem_of(*document)) return *std::move(problem);
    Result<std::vector<BoundSpec>> specs = bind(*document, options);
    if (!specs) return specs.error();
    ImportReport report;
    const core::NodeId top =
        options.parent != Agent() ? AgentAccess::node(options.parent) : tree_.table.root_sentinel().id();
    auto reserve = std::make_unique<std::array<std::byte, undo_bytes>>();  // before there is what it undoes
    if (auto made = create_all(*document, *specs, top, report); !made) return made.error();
    try {
      begin_all(*document, *specs, report);
    } catch (const std::bad_alloc&) {
      reserve.reset();
      undo(report);
      throw;
    }
    return report;
  } catch (const std::bad_alloc&) {
    return out_of_memory_of_document();
  }
}

// All agents or none. No observer was called yet.
Result<void> AgentDocuments::create_all(AgentDocument& document, const std::vector<BoundSpec>& specs,
                                        core::NodeId top, ImportReport& report) {
  const auto withdraw = [&] {
    for (; !report.agents.empty(); report.agents.pop_back())
      if (Node* const node = tree_.table.find(AgentAccess::node(report.agents.back())))
        factory_.withdraw(*node);
  };
  try {
    report.agents.reserve(document.agents.size());
    for (DocumentAgent& from : document.agents) {
      const BoundSpec& spec = specs[from.record.spec];
      const core::NodeId parent =
          from.record.parent == 0 ? top : AgentAccess::node(report.agents[from.record.parent - 1]);
      Result<Agent> made = create(from, parent, spec);
      if (!made) {
        withdraw();
        return made.error();
      }
      report.agents.push_back(*std::move(made));
      Node& node = *tree_.table.find(AgentAccess::node(report.agents.back()));
      node.turns = static_cast<std::uint32_t>(from.record.turns);
      factory_.set_accounts(node, from.record);
      if (spec.unbound.empty()) continue;
      report.unbound.push_back(report.agents.back().id() + ": " + spec.unbound);
      // A message does not open it: it would run without its code.
      node.auto_resume.store(false, std::memory_order_relaxed);
    }
    return {};
  } catch (const std::bad_alloc&) {
    withdraw();
    throw;
  }
}

// The agents exist: from now on observers are called.
void AgentDocuments::begin_all(AgentDocument& document, const std::vector<BoundSpec>& specs,
                               ImportReport& report) {
  for (const Agent& agent : report.agents)
    if (Node* const node = tree_.is_closed() ? nullptr : tree_.table.find(AgentAccess::node(agent)))
      factory_.announce(*node);
  for (std::size_t i = 0; i < report.agents.size(); ++i)
    set_pause_and_hold(report.agents[i], document.agents[i].record);
  // A closed agent can be neither held nor given children.
  for (std::size_t i = 0; i < report.agents.size(); ++i) {
    const DocumentAgent& from = document.agents[i];
    set_stop(report.agents[i], from.record, specs[from.record.spec].unbound);
  }
  for (std::size_t i = 0; i < report.agents.size(); ++i)
    report.messages += send_mail(report.agents[i], document.agents[i].mail);
}

// Deletes the agents, whatever their roles.
void AgentDocuments::undo(const ImportReport& report) noexcept {
  for (const Agent& agent : report.agents)
    if (Node* const node = tree_.is_closed() ? nullptr : tree_.table.find(AgentAccess::node(agent)))
      node->role.store(AgentRole::normal, std::memory_order_relaxed);
  tree_.engine->guarded("an import", [&] { static_cast<void>(report.agents.front().terminate()); });
}

std::optional<Error> AgentDocuments::problem_of(const AgentDocument& document) const {
  for (const DocumentAgent& agent : document.agents)
    if (!agent.record.name.empty() && tree_.table.names().find(agent.record.name) != 0)
      return Error{Errc::agent_exists, "the tree has an agent '" + agent.record.name +
                                           "' already, and an import changes no agent; delete it first, or "
                                           "import into another tree"};
  return std::nullopt;
}

Result<std::vector<AgentDocuments::BoundSpec>> AgentDocuments::bind(const AgentDocument& document,
                                                                    const ImportOptions& options) const {
  std::vector<BoundSpec> specs;
  for (const std::string& text : document.specs) {
    persist::StoredSpec stored;
    try {
      stored = persist::read_spec(text);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      return Error{Errc::invalid_config, "the document of agents cannot be imported: spec " +
                                             std::to_string(specs.size()) + ": " + display(error.what())};
    }
    if (!options.roles) stored.spec.role = AgentRole::normal;
    BoundSpec& bound = specs.emplace_back();
    for (const std::string& field : stored.unnamed)
      bound.unbound += (bound.unbound.empty() ? "" : "; ") + field + " has no name (AgentSpec::code)";
    std::string missing = options.code.bind(stored.spec);
    if (!missing.empty() && tree_.persistence) missing = tree_.persistence->options().code.bind(stored.spec);
    if (!missing.empty())
      bound.unbound += (bound.unbound.empty() ? "" : "; ") + missing + " is not in ImportOptions::code";
    if (const auto problem = check_spec(stored.spec))
      return Error{problem->code, "the document of agents cannot be imported: spec " +
                                      std::to_string(specs.size() - 1) + ": " + problem->message};
    bound.spec = std::make_shared<const AgentSpec>(std::move(stored.spec));
  }
  return specs;
}

Result<Agent> AgentDocuments::create(DocumentAgent& from, core::NodeId parent, const BoundSpec& spec) {
  auto data = std::make_unique<turn::TurnData>();
  data->conversation.load(std::move(from.conversation.messages), std::move(from.conversation.turns));
  data->conversation.changes().note(0);
  if (from.sent) data->sent = *std::move(from.sent);
  data->sent.request_ends = turn::ends_of_history(data->conversation.messages());
  data->tool_turns = static_cast<std::uint32_t>(from.record.tool_turns);
  data->summary_tokens = from.record.summary_tokens;
  data->ended_tasks = from.record.ended_tasks;
  data->tool_children = from.record.tool_children;
  return factory_.add(parent, spec.spec, from.record.name, std::move(data));
}

// These throw std::bad_alloc if a verb has no memory.
void AgentDocuments::set_pause_and_hold(const Agent& agent, const AgentRecord& record) {
  if (record.paused) require_memory(agent.pause({.reason = "it was imported as paused"}).reason);
  if (record.held)
    require_memory(agent
                       .interrupt({.scope = record.holds_below ? Scope::subtree : Scope::agent,
                                   .queue = QueueAction::hold})
                       .reason);
}

// Parents come first: what a parent's stop has closed stays as it is.
void AgentDocuments::set_stop(const Agent& agent, const AgentRecord& record, const std::string& unbound) {
  const auto state = agent.state();
  const bool is_closed = state && (*state == AgentState::stopping || *state == AgentState::stopped);
  if (record.gate != core::Gate::open && !(is_closed && record.stopped_by_ancestor))
    require_memory(agent
                       .stop({.scope = record.gate == core::Gate::stop_tree ? Scope::subtree : Scope::agent,
                              .reason = "it was imported as stopped"})
                       .reason);
  else if (!unbound.empty())
    require_memory(agent.stop({.scope = Scope::agent, .reason = unbound}).reason);
}

// Those of an agent that is closed are dropped, as a stop does.
std::size_t AgentDocuments::send_mail(const Agent& agent, std::vector<persist::MailRecord>& mail) const {
  std::size_t sent = 0;
  const auto state = agent.state();
  if (!state || !can_process(*state)) return 0;
  const mailbox::WithoutLimit all(*tree_.table.find(AgentAccess::node(agent)));
  for (persist::MailRecord& record : mail) {
    if (record.simulated) continue;
    SendOptions options;
    if (record.deadline) options.deadline = loop::restored_deadline(*record.deadline, tree_.engine->clock());
    const SendResult result = agent.send(std::move(record.message), std::move(options));
    require_memory(result.reason);
    sent += result.accepted() ? 1 : 0;
  }
  return sent;
}

}  // namespace agentcore::detail::tree
