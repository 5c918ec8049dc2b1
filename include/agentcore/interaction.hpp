// InteractionResult: the record of a turn, with each of its tool calls.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/tool.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agentcore {

/// The record of one tool call of a turn.
struct InteractionStep {
  /// "action": a tool call. "terminated": the last entry of a turn that was stopped.
  std::string type = "action";
  std::string call_id = {};    ///< the id of the tool call, unique within the history of the agent
  std::string window_id = {};  ///< the window of the action; empty: an ordinary tool
  std::string action_id = {};  ///< the name of the tool or action
  /// The mode in which the call ran: it depends on ToolSpec::mode and AgentSpec::background_tasks.
  ToolMode resolved_mode = ToolMode::sync;
  ToolOutcome outcome = ToolOutcome::not_started;  ///< how the call ended
  bool success = false;                            ///< ToolResult::success
  /// The message of the result, as the model received it. If a call is rejected, the reason.
  std::string message = {};
  std::string summary = {};  ///< ToolResult::summary
  std::string task_id = {};  ///< the background task that the call started; empty: none
  std::uint32_t turn = 0;    ///< the number of the answer with tool calls within this turn, from 1
  std::uint32_t index = 0;   ///< the number of the call within that answer, from 1
};

/// The record of a turn, from TurnEnded::result. Every outcome of a turn has one: completed, aborted, stopped
/// and failed.
///
///     for (const agentcore::InteractionStep& step : result.steps)
///       std::printf("%s %s: %s\n", step.action_id.c_str(), to_string(step.outcome).data(),
///                   step.message.c_str());
///     std::printf("answer: %s\n", result.response.c_str());
struct InteractionResult {
  /// True: the turn completed.
  bool success = false;
  /// The reason if `success` is false; otherwise empty.
  std::string error = {};
  /// The answer in words.
  std::string response = {};
  /// The last tool call that the model asked for.
  std::optional<ToolCall> action = {};
  /// The last result of a tool call.
  std::optional<ToolResult> action_result = {};
  /// The tool calls of the turn, in the order in which the model asked for them.
  std::vector<InteractionStep> steps = {};
  /// The sum over all model calls of the turn, as far as the usage is known. Usage::complete is false if a
  /// part of it is not the final count of the provider.
  Usage usage = {};
  /// The sum over all model calls of the turn, as far as the cost is known: from the client, or from
  /// AgentSpec::prices. Empty: the cost of none of them is known.
  std::optional<double> cost = {};
  /// Why tool calls in the last answer could not be read. If the turn completed, `response` is that answer,
  /// unchanged.
  std::string parse_error = {};
};

/// The text of a JSON object with camelCase names: {"success":true,"response":"...","steps":[{"callId":...}],
/// "usage":{...}}. Broken UTF-8 is replaced. The cost is not included.
std::string to_json(const InteractionResult& result);

}  // namespace agentcore
