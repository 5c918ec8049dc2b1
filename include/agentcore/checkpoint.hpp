// Checkpoints: agents as a JSON document, to be kept outside of a tree, and to be created again from it.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/agent_tree.hpp>
#include <agentcore/code_registry.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// Options of export_agents().
struct ExportOptions {
  Scope scope = Scope::subtree;  ///< `subtree`, or `agent`: the agent alone.
};

/// Returns an agent, and its descendants, as the text of one JSON object with the members "format" (always
/// "agentcore-agents") and "version". A reader reads its own version and all older ones.
///
/// The document has for each agent: its id if it was chosen, its parent, what of its spec is data and the
/// names of its code (AgentSpec::code), its conversation up to the last ended turn, which messages are sent
/// and the summaries, its budgets and what was used of them, the messages that wait, and whether it is
/// stopped, paused or held. It has nothing of a turn in progress: the message with which that turn began is
/// not in it either. It has no questions or grants; a lease (AgentLimits::lease) begins in full at the
/// import. Keys of model clients and other code are never in it; what people and models wrote is.
///
///     std::string document = agentcore::export_agents(agent).value();
///     agentcore::ImportReport made = agentcore::import_agents(other_tree, document).value();
///
/// Agents that are being deleted, also by a deferred delete that is pending, and those that work for one tool
/// call (make_agent_tool()), are left out, with what is below them. What an ancestor of the agent has
/// stopped, paused or held is so in the document; an agent with a deferred stop is stopped. A turn in
/// progress is left out; lines about background tasks that it has begun with are for the next turn.
///
/// Errors: `agent_not_found` (also for one that works for one tool call), `agent_terminating`,
/// `runtime_gone`, `out_of_memory`; in a tree with a store those of Store::read() and `store_corrupt`.
/// @loop_thread
AGENTCORE_API Result<std::string> export_agents(const Agent& agent, ExportOptions options = {});

/// Options of import_agents().
struct ImportOptions {
  /// The agent below which the agents are created; empty: they become roots.
  Agent parent = {};
  /// The code that the specs name. What it does not have is looked up in RestoreOptions::code, if the tree
  /// has a store.
  CodeRegistry code = {};
  /// The longest document, in bytes. In memory a document may need thirty times as much.
  std::size_t max_bytes = std::size_t{64} << 20;
  /// True: the agents get their AgentSpec::role. Then the document may have agents that cannot be stopped or
  /// deleted. False: they get AgentRole::normal.
  bool roles = false;
};

/// What import_agents() has created.
struct ImportReport {
  std::vector<Agent> agents = {};  ///< The agents, parents before children: the first is the exported one.
  std::size_t messages = 0;        ///< Messages that wait in their mailboxes.
  /// Why agents are stopped although they were not when they were exported: "a: handler 'printer' is not in
  /// ImportOptions::code". Only a resume() of that agent opens it. An AgentRole::user is listed, too, and is
  /// not stopped.
  std::vector<std::string> unbound = {};
};

/// Creates the agents of a document of export_agents(), in this tree or another one. Agents without a chosen
/// id, and all messages, get new ids. It never changes an agent that exists: if one has an id of the
/// document, nothing is created. AgentCreated is emitted for each agent when all of them exist, with their
/// conversations and budgets; they are paused, held or stopped, and get their messages, after that.
///
/// A document is untrusted input: it is checked as a whole before the first agent is created. It may have at
/// most ImportOptions::max_bytes of text, and `TreeOptions::max_agents` agents.
///
/// Errors: `invalid_config` (the text is no such document, too long, or of a newer version; the message says
/// where), `invalid_history`, `agent_exists`, `agent_limit`, `out_of_memory`, and those of
/// Agent::create_child() and AgentTree::create(). Then no agent was created, or those that were are deleted.
/// @loop_thread
AGENTCORE_API Result<ImportReport> import_agents(AgentTree& tree, std::string_view document,
                                                 ImportOptions options = {});

}  // namespace agentcore
