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
#include <vector>

#include <nlohmann/json.hpp>

namespace store_tool {
namespace {

struct DocumentCommand {
  std::string file;
  std::string agent;
};

using persist::ForestAgent;

bool is_left_out(const ForestAgent& agent) noexcept {
  return agent.found.is_deleted;
}

persist::AboveDocument above(const persist::StoredForest& forest, const ForestAgent& root) noexcept {
  persist::AboveDocument found{.is_closed = forest.tree().stopped, .is_paused = forest.tree().paused};
  for (const ForestAgent* up = root.parent; up; up = up->parent) {
    found.is_closed = found.is_closed || up->found.is_closed_below;
    found.is_paused = found.is_paused || up->record.paused;
    found.is_held = found.is_held || up->record.holds_below;
  }
  return found;
}

// The agents of the document with the numbers of their parents, in the order of export_agents().
std::vector<std::pair<const ForestAgent*, std::uint64_t>> below(const persist::StoredForest& forest,
                                                                const ForestAgent& root) {
  std::unordered_map<const ForestAgent*, std::vector<const ForestAgent*>> children;
  for (const auto& agent : forest.agents())
    if (agent->parent && !is_left_out(*agent)) children[agent->parent].push_back(agent.get());
  std::vector<std::pair<const ForestAgent*, std::uint64_t>> found, open{{&root, 0}};
  while (!open.empty()) {
    found.push_back(open.back());
    open.pop_back();
    const auto& newest_last = children[found.back().first];
    for (auto child = newest_last.rbegin(); child != newest_last.rend(); ++child)
      open.emplace_back(*child, found.size());
  }
  return found;
}

bool is_person(const std::string& spec) {
  constexpr auto user = static_cast<int>(agentcore::AgentRole::user);
  return nlohmann::json::parse(spec).value("role", 0) == user;
}

// Nothing: an agent has changed meanwhile.
std::optional<persist::AgentDocument> document_of(OpenedStore& store, const std::string& id) {
  const persist::StoredForest forest = store.forest();
  const ForestAgent* const root = forest.find(id);
  if (!root || is_left_out(*root))
    throw Failure(agentcore::Errc::agent_not_found, store.file() + ": there is no agent '" + id +
                                                        "'; see: agentcore-store list " + store.file());
  const persist::AboveDocument outside = above(forest, *root);
  persist::AgentDocument document;
  std::unordered_map<std::uint64_t, std::size_t> specs;
  for (const auto& [agent, parent] : below(forest, *root)) {
    persist::DocumentAgent& to = document.agents.emplace_back();
    to.record = agent->record;
    to.record.parent = parent;
    const auto [spec, is_new] = specs.emplace(agent->record.spec, document.specs.size());
    if (is_new) document.specs.push_back(store.spec_text(agent->record.spec));
    to.record.spec = spec->second;
    auto conversation = store.conversation(*agent);
    if (!conversation) return std::nullopt;
    to.conversation = *std::move(conversation);
    to.sent = store.context(*agent, to.conversation.messages.size());
    to.mail = agent->mail;
    const bool in_turn = agent->record.turn && agent->record.turn->asked;
    make_portable(to, in_turn, agent == root ? &outside : nullptr);
  }
  if (outside.is_closed && is_person(document.specs.front())) close_below_first(document);
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
