// TurnResult: the record of a turn, with each of its tool calls.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/export.hpp>
#include <agentcore/tool.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// How a turn ended.
enum class TurnOutcome : unsigned char {
  completed,   ///< with an answer
  aborted,     ///< its model call was ended by an abort, or cancelled by its client
  stopped,     ///< the agent was stopped or deleted
  failed,      ///< with an error: TurnResult::error
  interrupted  ///< by Agent::interrupt()
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(TurnOutcome outcome) noexcept;

/// The record of one tool call of a turn.
struct ToolCallRecord {
  std::string call_id = {};    ///< the id of the tool call, unique within the history of the agent
  std::string window_id = {};  ///< the window of the action; empty: an ordinary tool
  std::string tool = {};       ///< the name of the tool or action
  /// The mode in which the call ran: it depends on ToolSpec::mode and AgentLimits::background_tasks.
  ToolMode mode = ToolMode::sync;
  ToolOutcome outcome = ToolOutcome::not_started;  ///< how the call ended
  bool success = false;                            ///< ToolResult::success
  /// The message of the result, as the model received it. If a call is refused, the reason.
  std::string message = {};
  std::string summary = {};  ///< ToolResult::summary
  std::string task_id = {};  ///< the background task that the call started; empty: none
  std::uint32_t round = 0;   ///< the number of the answer with tool calls within this turn, from 1
  std::uint32_t index = 0;   ///< the number of the call within that answer, from 1
  bool by_host = false;      ///< the host supplied the result (Agent::complete_call()), not the tool
};

/// The record of a turn, from TurnEnded::result. Every turn has one, however it ends.
///
///     for (const agentcore::ToolCallRecord& call : result.calls)
///       std::printf("%s %s: %s\n", call.tool.c_str(), to_string(call.outcome).data(), call.message.c_str());
///     std::printf("answer: %s\n", result.text.c_str());
struct TurnResult {
  /// How the turn ended.
  TurnOutcome outcome = TurnOutcome::completed;
  /// The answer in words. If an answer of the model completed the turn and ModelOptions::response_format is
  /// validated, it matches that format; the text of ToolResult::end_turn or of Agent::simulate() is not
  /// checked. A Markdown code fence around the JSON is not in it: the message of the conversation and the
  /// deltas have that. Empty if the turn was aborted, interrupted or stopped, or was ended by its deadline.
  /// If it failed for another reason: the words of the last answer, if there was one, and the model was not
  /// asked again because of it (ModelCallEnded). For `invalid_answer`: the text that does not match.
  std::string text = {};
  /// The part of the answer that is kept in the history, although the turn did not complete
  /// (AgentSpec::partial_answers). Empty: none is kept.
  std::string partial = {};
  /// Why the model ended its last answer.
  FinishReason finish_reason = FinishReason::unknown;
  /// Why the turn did not complete. If it failed: the code and what is known of the failure. If it was
  /// aborted, interrupted or stopped: the code is Errc::none, and the message says why:
  /// the reason of the abort or interrupt, if it has one, else a fixed text.
  ChatError error = {};
  /// The tool calls of the turn, in the order in which the model asked for them.
  std::vector<ToolCallRecord> calls = {};
  /// The last tool call that the model asked for. Null: it asked for none.
  std::shared_ptr<const ToolCall> last_call = {};
  /// The result of `last_call`, and never of another call. Null until that call has ended: with parallel
  /// calls, others may have ended before.
  std::shared_ptr<const ToolResult> last_result = {};
  /// The sum over all model calls of the turn, as far as the usage is known. Usage::complete is false if a
  /// part of it is not the final count of the provider.
  Usage usage = {};
  /// The sum over all model calls of the turn, as far as the cost is known: from the client, or from
  /// ModelOptions::prices. Empty: the cost of none of them is known.
  std::optional<double> cost = {};
  /// Why tool calls in the last answer could not be read. If the turn completed, `text` is that answer,
  /// unchanged.
  std::string parse_error = {};

  /// True if the turn completed.
  bool success() const noexcept { return outcome == TurnOutcome::completed; }
};

/// The text of a JSON object with camelCase names: {"success":true,"response":"...","steps":[{"callId":...}],
/// "usage":{...},"cost":0.01}. `steps` are the tool calls; if the turn was stopped or interrupted, the last
/// step has the type "terminated". A cost that is not known is null. `partial` is there only if a part of an
/// answer was kept. Broken UTF-8 is replaced.
AGENTCORE_API std::string to_json(const TurnResult& result);

}  // namespace agentcore
