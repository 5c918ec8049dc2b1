// ToolPolicy: which agent may run which tool call. Also ready-made rules, and the grants of people.
#pragma once

#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// Whether a tool call may run. In the order of strictness.
enum class Permission : unsigned char {
  allow,  ///< It runs.
  ask,    ///< A person has to approve it first (QuestionKind::approval).
  deny    ///< It does not run. The model reads the reason as the result.
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(Permission permission) noexcept;

/// A tool call, for a ToolPolicy. Valid while the policy runs.
struct ToolRequest {
  const Agent& agent;          ///< The agent that makes the call.
  std::string_view agent_id;   ///< Its id.
  std::string_view window_id;  ///< The window of the action. Empty: an ordinary tool.
  /// The tool or action. Its name: ToolSpec::name.
  const ToolSpec& tool;
  /// The text of a JSON object that conforms to ToolSpec::parameters: exactly what the tool gets if the call
  /// runs.
  std::string_view arguments;
};

/// The decision about one tool call.
struct ToolDecision {
  Permission permission = Permission::allow;  ///< Whether the call may run.
  /// Of a denial: why, for the model and the events. UTF-8. Empty: "the policy of the host denies this call".
  std::string reason = {};
  /// For `ask`: what an answer permits beyond this call, if it holds for longer (GrantScope). Empty: only
  /// calls of the same tool with the same arguments. Otherwise a text that the policy chooses: all calls of
  /// the same tool for which the policy gives the same key. Example: "git status", for every call of `shell`
  /// that is harmless in the same way. Only code of the host can widen a grant.
  std::string grant_key = {};
};

/// Decides about one tool call, after its arguments were checked and before anything of it begins. It is
/// asked about calls of tools, of actions of windows and of the launcher, also in the background and in
/// simulated answers. Called once for each call, on the loop thread; must return at once. It may call any
/// function that a callback may call; if that ends the turn or the call, the decision is ignored. If it
/// throws, the call is denied, and the exception is logged.
///
/// TreeOptions::tool_policy applies to all agents of a tree, AgentSpec::tool_policy to one; the children of
/// an agent do not inherit it. ToolSpec::needs_approval counts as `ask`. The strictest of the three decides.
/// If both policies ask and give different keys (ToolDecision::grant_key), a grant covers only calls with the
/// same arguments.
///
///     spec.tool_policy = [](const agentcore::ToolRequest& request) -> agentcore::ToolDecision {
///       if (request.tool.name.starts_with("read_")) return {agentcore::Permission::allow};
///       return {agentcore::Permission::ask};
///     };
using ToolPolicy = std::function<ToolDecision(const ToolRequest& request)>;

/// One rule of make_tool_policy(): for which calls, and what it decides. In the patterns '*' stands for any
/// number of characters, and '?' for one byte; every other character stands for itself.
struct ToolRule {
  std::string tool = "*";                     ///< Pattern for the name: "fs_*", "<window>__<action>".
  Permission permission = Permission::allow;  ///< The decision for the calls that match.
  std::string agent = "*";                    ///< Pattern for the id of the agent.
  std::string reason = {};                    ///< ToolDecision::reason
  /// True: an answer that holds for longer permits all calls of the same tool, whatever the arguments.
  bool grants_any_arguments = false;
};

/// Creates a policy from rules: the first rule that matches decides. A call that no rule matches gets
/// `otherwise`.
///
///     options.tool_policy = agentcore::make_tool_policy(
///         {{.tool = "read_*"},
///          {.tool = "shell", .permission = agentcore::Permission::deny, .agent = "guest-*"},
///          {.tool = "shell", .permission = agentcore::Permission::ask}});
AGENTCORE_API ToolPolicy make_tool_policy(std::vector<ToolRule> rules,
                                          Permission otherwise = Permission::deny);

/// How long the answer to an approval holds.
enum class GrantScope : unsigned char {
  once,    ///< For this call.
  agent,   ///< For such calls of this agent, until revoked.
  subtree  ///< For such calls of this agent and of its descendants, until revoked.
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(GrantScope scope) noexcept;

/// What a person has approved for longer than one call, from AgentTree::grants(). While it exists, calls that
/// it covers are not asked about again; calls that a policy denies are denied nevertheless.
///
/// It covers calls of one tool: ToolDecision::grant_key says which. It never covers a tool of the same name
/// with another description, other parameters or another mode: that is another tool. It ends when it is
/// revoked, when its agent is deleted, or when the tool was replaced by a different one of that name; that is
/// noticed at the next call of its agent or by AgentTree::grants(). A stop does not end it. Siblings and
/// forks of the agent do not have it.
struct Grant {
  std::uint64_t id = 0;                  ///< Unique in the tree; for AgentTree::revoke().
  std::string agent_id = {};             ///< The agent for which it was given.
  GrantScope scope = GrantScope::agent;  ///< Whether its descendants have it, too.
  std::string window_id = {};            ///< The window of the action; empty: an ordinary tool.
  std::string tool = {};                 ///< The name of the tool.
  /// The arguments that it covers, as the text of a JSON object with sorted members. Empty: see `key`.
  std::string arguments = {};
  std::string key = {};  ///< ToolDecision::grant_key. Empty: see `arguments`.
};

}  // namespace agentcore
