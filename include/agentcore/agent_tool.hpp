// make_agent_tool(): an agent as a tool of another agent.
#pragma once

#include <agentcore/agent_spec.hpp>
#include <agentcore/export.hpp>
#include <agentcore/json_fwd.hpp>
#include <agentcore/tool.hpp>

#include <functional>
#include <string>

namespace agentcore {

/// Options of make_agent_tool().
struct AgentToolOptions {
  /// The description of the tool. Without `parameters`, the tool takes one argument, the text `message`.
  /// `timeout` not set: no time-out. Set it, or AgentLimits::turn_timeout or a budget of the child; otherwise
  /// only the time-outs of the model's client limit a call.
  ToolSpec tool = {};
  /// The agent that a call works with, a child of the agent that makes the call. Without AgentSpec::id each
  /// call creates a child of its own, and deletes it after its result. With an id, the first call of an agent
  /// creates the child of that name, unless it has one, and later calls send it further messages: it
  /// remembers the earlier ones, works on one call at a time in the order of the calls, and stays until it or
  /// its parent is deleted. Ids are unique in the tree: if two agents use such a tool, the calls of the
  /// second one fail.
  ///
  /// A child with an id that was deleted stays deleted: later calls of its parent fail with "the agent
  /// 'helper' was deleted, and is not created again", also after a restart. They work again when the host
  /// creates a child of that id itself (Agent::create_child()), or with `create_again`.
  AgentSpec agent = {};
  /// Only for an agent with an id. True: if the child was deleted, the next call creates it again, without
  /// what it remembered.
  bool create_again = false;
  /// Writes the message for the child from the arguments of the call. Called on the loop thread. If it
  /// throws, the call fails. Empty: the text `message` of the arguments, or with other parameters, the
  /// arguments as JSON.
  std::function<std::string(const nlohmann::json& arguments)> write_message = {};
};

/// Creates a tool whose calls are done by a child agent: the call sends it a message, and the answer in words
/// is the result.
///
///     agentcore::AgentToolOptions researcher;
///     researcher.tool = {.name = "research", .description = "Researches a question in depth."};
///     researcher.agent.system_prompt = "You research one question and answer in ten lines.";
///     researcher.agent.tools = search_tools;
///     tools->add(agentcore::make_agent_tool(std::move(researcher)));
///
/// The call and the turn of the child end together:
///
/// - What ends the call ends the turn of the child at once: a stop or a delete of the parent, an interrupt of
///   the parent's turn, Agent::cancel_call(), Agent::complete_call(), a time-out. A child of one call is
///   deleted then; a named child only loses that turn or that queued message.
/// - What ends the turn of the child, or drops its message, ends the call with a result that says how:
///   a stop ("the agent was stopped, and did not finish"), an interrupt, an abort, a deadline, a failure, a
///   used up budget. The result is a failure, and has the partial answer if one was kept
///   (AgentSpec::partial_answers). It has no reason that a person gave for a verb (StopOrigin, G11).
/// - Each piece of the child's answer is reported as ToolProgress of the call. The events of the child are
///   events of the tree, as those of any agent.
///
/// The child counts in the subtree budgets above it and in TreeOptions::max_depth; a call that would exceed a
/// limit fails with the reason. It does not count in TurnResult::usage of its parent. ToolContext::deadline()
/// is also the deadline of the child's message. Calls of one answer run side by side as far as
/// AgentLimits::parallel_tools allows.
///
/// A pause of the parent pauses the child. A deferred stop (StopOptions::when) of the parent, or above it,
/// lets the turn of the child begin and end, because it belongs to a call that runs; messages of others to
/// the child wait, or are refused. If the child is in another turn, and the stop withholds the next model
/// call of that turn, the call fails. Otherwise the stop would wait for the call, and the call for the stop.
///
/// A hold of the child's mailbox (QueueAction::hold, a restart) does not delay a call: its message begins its
/// turn, and the others wait for Agent::release_queue(). A call of a child that is paused waits until the
/// pause ends. It reports that as ToolProgress, and its time-out (ToolSpec::timeout) runs meanwhile.
///
/// Throws std::invalid_argument if AgentToolOptions::agent has a `handler`, or a `role` but no id: a child of
/// one call has to be deleted.
AGENTCORE_API Tool make_agent_tool(AgentToolOptions options);

}  // namespace agentcore
