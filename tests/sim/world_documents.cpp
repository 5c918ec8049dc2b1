// Agents as documents: exported, and imported again, also after a restart, below others, or damaged.
#include "sim/world_documents.hpp"

#include "sim/choices.hpp"
#include "sim/document_rules.hpp"
#include "sim/world.hpp"
#include "sim/world_result.hpp"
#include "sim/world_run.hpp"

#include <agentcore/checkpoint.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace agentcore::sim {
namespace {

constexpr std::size_t most_documents = 4;

bool is_of_one_call(const std::string& id) {
  return id.starts_with('@');
}

bool is_being_stopped(const AgentStatus& status) {
  return status.stop_pending || !can_process(status.state);
}

}  // namespace

bool World::act_on_documents(const Command& command) {
  if (command.act != Act::export_agents && command.act != Act::import_agents) return false;
  const test::HostCode host;
  if (!documents_) documents_ = std::make_shared<Documents>(verdict_);
  if (command.act == Act::export_agents)
    export_some(command);
  else if (!documents_->all.empty())
    import_some(command);
  return true;
}

void World::export_some(const Command& command) {
  const Agent who = agent(command.n[0]);
  const ExportOptions options{.scope = command.n[1] % 4 != 3 ? Scope::subtree : Scope::agent};
  const auto text = [&] {
    const test::LibraryCode library;
    return agentcore::export_agents(who, options);
  }();
  note_result(command, text);
  if (!text) return check_not_exported(who, text.error());
  ExportedAgents one;
  one.seen.text = text.value();
  add_to_document(one, who, options.scope == Scope::subtree, false);
  documents_->all.push_front(std::move(one));
  if (documents_->all.size() > most_documents) documents_->all.pop_back();
  if (command.n[2] % 2 == 0) check_in_another_tree(documents_->all.front());
}

// What of an agent is in its document; see DocumentRules::OfAgent::may_be_missing.
void World::add_to_document(ExportedAgents& one, const Agent& agent, bool descendants, bool may_be_missing) {
  DocumentRules::OfAgent seen = DocumentRules::seen(agent, depth_ == 0 && gates_.turn_of(agent.id()) == 0);
  if (seen.status.state == AgentState::terminating) return;
  // A request of the console may have been for a delete.
  const bool may_go = gates_.may_go(seen.id) || (setup_[Knob::console] != 0 && is_being_stopped(seen.status));
  seen.may_be_missing = may_be_missing || may_go || is_of_one_call(seen.id);
  const bool is_first = one.seen.agents.empty();
  GateRules::Own own = gates_.own_of(seen.id);
  if (is_first && !own.stop && !can_process(seen.status.state)) own.stop = true;
  if (is_first && !own.stop && seen.status.stop_pending) own.stop = true;
  if (is_first) own.is_paused = own.is_paused || seen.status.paused;
  one.more[seen.id] = {std::move(own), turn_rules_.limits_of(seen.id), budget_rules_.budgets_of(seen.id),
                       resumes_by_itself_.contains(seen.id)};
  may_be_missing = seen.may_be_missing;
  one.seen.agents.push_back(std::move(seen));
  if (!descendants) return;
  if (const auto children = agent.children())  // the newest first; in the document it is the last
    for (auto child = children.value().rbegin(); child != children.value().rend(); ++child)
      add_to_document(one, *child, true, may_be_missing);
}

void World::check_not_exported(const Agent& who, const Error& error) {
  const auto state = who.state();
  const std::string id = who.id();
  if (!state || fault_came() || error.code == Errc::out_of_memory || store_.file() != nullptr) return;
  const auto status = who.status();
  bool may_go = state.value() == AgentState::terminating ||
                (setup_[Knob::console] != 0 && status && is_being_stopped(status.value()));
  bool of_call = false;
  for (std::string at = id; !at.empty(); at = gates_.parent_of(at)) {
    may_go = may_go || gates_.may_go(at);
    of_call = of_call || is_of_one_call(at);
  }
  // An agent of a call that has ended is being deleted.
  verdict_.require((error.code == Errc::agent_terminating && (may_go || of_call)) ||
                       (error.code == Errc::agent_not_found && of_call),
                   "documents", id + " is not exported: " + error.message);
}

// Nothing is polled there, so nothing of it begins.
void World::check_in_another_tree(const ExportedAgents& one) {
  if (allocations_ && allocations_->failed()) return;
  TreeOptions options = Run::options_of(*this, run_->client());
  options.audit = nullptr;
  AgentTree other(run_->runtime, std::move(options));
  DocumentRules::Import how{.roles = true, .now = clock_.now()};
  const auto made = [&] {
    const test::LibraryCode library;
    return agentcore::import_agents(other, one.seen.text, {.code = code(true), .roles = true});
  }();
  if (!made) {
    const bool may_be = made.error().code == Errc::out_of_memory;
    return verdict_.require(may_be, "documents", "an export cannot be imported: " + made.error().message);
  }
  documents_->rules.check(one.seen, made.value(), how);
  const auto again = agentcore::export_agents(made.value().agents.front());
  verdict_.require(bool(again), "documents", "what was imported cannot be exported");
  if (again) documents_->rules.check_again(one.seen, again.value());
}

void World::import_some(const Command& command) {
  const ExportedAgents& from = documents_->all[command.n[0] % documents_->all.size()];
  const std::uint32_t way = command.n[1] % 8;
  ExportedAgents one;
  one.seen = way >= 2 && way <= 6 ? DocumentRules::renamed(from.seen) : from.seen;
  for (const auto& [id, more] : from.more) one.more[one.seen.renamed ? DocumentRules::rename(id) : id] = more;
  const bool is_damaged = way == 7;
  ImportOptions options{.code = code(way != 6), .roles = command.n[2] % 2 == 1};
  if (way == 5) options.parent = agent(command.n[2]);
  options.max_bytes = one.seen.text.size();
  const std::string text = is_damaged ? DocumentRules::damaged(one.seen.text, command.n[2]) : one.seen.text;
  if (way == 4 && command.n[2] % 8 == 7) --options.max_bytes;
  const bool is_too_long = text.size() > options.max_bytes;
  import_one(command, one, text, options, way != 6 || setup_[Knob::store] != 0, is_damaged || is_too_long);
}

void World::import_one(const Command& command, const ExportedAgents& one, const std::string& text,
                       const ImportOptions& options, bool is_complete, bool is_damaged) {
  DocumentRules::Import how{
      .roles = options.roles, .is_code_complete = is_complete, .parent = options.parent, .now = clock_.now()};
  const std::string above = how.parent.id();
  const bool may_be_made = gates_.may_create(above);
  if (const auto status = how.parent.status()) {
    how.is_paused = status.value().paused;
    how.is_held = status.value().queue_held;
  }
  how.is_paused = how.is_paused || gates_.is_paused({});
  how.all_may_be_paused =
      setup_[Knob::store] != 0 || setup_[Knob::console] != 0;  // before the restart, by others
  bool is_there = false, may_be_there = false;
  for (const DocumentRules::OfAgent& seen : one.seen.agents) {
    const bool exists = !is_of_one_call(seen.id) && run_->tree->find(seen.id);
    may_be_there = may_be_there || exists;
    is_there = is_there || (exists && !seen.may_be_missing);
  }
  const std::size_t size = run_->tree->size(), known = handles_.size(), waiting = pending_.size();
  const auto made = [&] {
    const test::LibraryCode library;
    return agentcore::import_agents(*run_->tree, text, options);
  }();
  note_result(command, made);
  if (killed_ || tree_is_destroyed_) return;
  if (!made) {
    const bool is_memory = made.error().code == Errc::out_of_memory;
    documents_->rules.check_refusal(made.error(), is_damaged && !may_be_there);
    verdict_.require(is_memory || (run_->tree->size() == size && handles_.size() == known), "documents",
                     "an import that was refused has changed the tree");
    return;
  }
  counts_.add("imported");
  verdict_.require(!is_damaged, "documents", "a damaged document was imported");
  verdict_.require(!is_there, "documents", "an import has changed an agent that existed");
  verdict_.require(may_be_made, "G2", "agents were imported behind a closed gate, below " + above);
  const auto sources = DocumentRules::sources(one.seen, made.value());
  for (std::size_t i = 0; i < sources.size(); ++i)
    note_imported(one, made.value().agents[i], sources[i] ? sources[i]->id : "", made.value());
  if (pending_.size() != waiting) return;  // a command in a callback of the import
  documents_->rules.check(one.seen, made.value(), how);
}

void World::note_imported(const ExportedAgents& one, const Agent& agent, const std::string& from,
                          const ImportReport& made) {
  const std::string id = agent.id();
  const auto status = agent.status();
  if (!status) return;  // a callback of the import has deleted it
  const bool is_closed = !can_process(status.value().state);
  const auto found = one.more.find(from);
  const bool is_unbound =
      std::ranges::any_of(made.unbound, [&](const std::string& line) { return line.starts_with(id + ": "); });
  const ExportedAgents::More more = found != one.more.end() ? found->second : ExportedAgents::More();
  GateRules::Own own = more.own;
  if (is_unbound && !own.stop) own.stop = false;
  if (found == one.more.end()) own.is_paused = !gates_.is_paused(id);
  own.is_paused = own.is_paused && status.value().paused;
  gates_.imported(id, own, is_closed);
  turn_rules_.imported(id, more.limits);
  budget_rules_.imported(agent, more.budgets);
  resumed_.erase(id);
  if (more.resumes_by_itself && !is_unbound)
    once_resumed_.insert(id), resumes_by_itself_.insert(id);
  else
    resumes_by_itself_.erase(id);
  const auto queued = agent.queued();
  if (!queued) return;
  for (const QueuedMessage& message : queued.value()) {
    sent_.push_back(message.id);
    messages_.accepted(message.id, id, false);
    conversations_.sent(message.id, message.message.text);
    turn_rules_.accepted(message.id, message.deadline);
  }
}

}  // namespace agentcore::sim
