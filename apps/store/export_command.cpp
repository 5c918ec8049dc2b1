// agentcore-store export FILE AGENT
#include "opened_store.hpp"
#include "persist/agent_document.hpp"
#include "safe_text.hpp"
#include "subcommand.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

namespace store_tool {
namespace {

using agentcore::detail::core::Gate;

struct DocumentCommand {
  std::string file;
  std::string agent;
};

// As export_agents() does: without what refers to the store, or to work in progress.
persist::AgentRecord portable(const persist::ForestAgent& agent, bool is_root) {
  persist::AgentRecord record = agent.record;
  record.node = 0;
  record.gate = agent.record.gate;
  if (record.grade != agentcore::detail::core::Grade::none || (is_root && agent.found.is_stopped()))
    record.gate = agent.found.gate;
  if (is_root) record.stopped_by_ancestor = false;
  record.grade = record.grade_below = agentcore::detail::core::Grade::none;
  record.grade_deletes = record.stays_stopped = false;
  record.turn.reset();
  record.tasks.clear();
  record.history.clear();
  record.origin = 0;
  record.cause = agentcore::StopCause::user;
  record.has_context = record.has_grants = false;
  return record;
}

// Leaves the ended turns.
void drop_turn_in_progress(const persist::AgentRecord& record, persist::DocumentAgent& agent) {
  persist::StoredConversation& conversation = agent.conversation;
  if (!record.turn || !record.turn->asked || conversation.turns.empty()) return;
  conversation.messages.resize(conversation.turns.back().question);
  conversation.turns.pop_back();
  if (!agent.sent) return;
  agentcore::detail::turn::Conversation left;
  left.load(conversation.messages, conversation.turns);
  agent.sent->keep_first(conversation.messages.size(), left);
}

bool is_left_out(const persist::ForestAgent& agent) noexcept {
  return agent.found.is_deleted || agent.record.of_call;
}

// Nothing: an agent has changed meanwhile.
std::optional<persist::AgentDocument> document_of(OpenedStore& store, const std::string& id) {
  const persist::StoredForest forest = store.forest();
  const persist::ForestAgent* const root = forest.find(id);
  if (!root || is_left_out(*root))
    throw Failure(agentcore::Errc::agent_not_found, store.file() + ": there is no agent '" + id +
                                                        "'; see: agentcore-store list " + store.file());
  persist::AgentDocument document;
  std::unordered_map<const persist::ForestAgent*, std::uint64_t> numbers;  // from 1
  std::unordered_map<std::uint64_t, std::size_t> specs;
  for (const auto& agent : forest.agents()) {
    const auto found = numbers.find(agent->parent);
    if (agent.get() != root && (found == numbers.end() || is_left_out(*agent))) continue;
    const std::uint64_t parent = agent.get() == root ? 0 : found->second;
    persist::DocumentAgent& to = document.agents.emplace_back();
    numbers.emplace(agent.get(), document.agents.size());
    to.record = portable(*agent, agent.get() == root);
    to.record.parent = parent;
    const auto [spec, is_new] = specs.emplace(agent->record.spec, document.specs.size());
    if (is_new) document.specs.push_back(store.spec_text(agent->record.spec));
    to.record.spec = spec->second;
    auto conversation = store.conversation(*agent);
    if (!conversation) return std::nullopt;
    to.conversation = *std::move(conversation);
    for (agentcore::detail::turn::TurnPlace& place : to.conversation.turns) place.message = {};
    to.sent = store.context(*agent, to.conversation.messages.size());
    drop_turn_in_progress(agent->record, to);
    to.mail = agent->mail;
    for (persist::MailRecord& mail : to.mail) mail.id = {};
  }
  return document;
}

int run_export(const DocumentCommand& options, Output& output) {
  OpenedStore store(options.file);
  constexpr int attempts = 10;  // while a host writes the agents
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto document = document_of(store, options.agent);
    if (!document) continue;
    output.print(safe_json(nlohmann::ordered_json::parse(to_json(*document))) + "\n");
    return exit_ok;
  }
  throw Failure(agentcore::Errc::store_in_use,
                store.file() + ": the agents change while they are read; try again");
}

}  // namespace

Subcommand export_command(CLI::App& app) {
  const auto options = std::make_shared<DocumentCommand>();
  CLI::App* const parser = app.add_subcommand(
      "export", "Writes an agent and its descendants as a JSON document for import_agents()");
  parser->add_option("FILE", options->file, "The file of a SqliteStore")->required()->type_name("");
  parser->add_option("AGENT", options->agent, "The id of the agent")->required()->type_name("");
  return {parser, [options](Output& output) { return run_export(*options, output); }};
}

}  // namespace store_tool
