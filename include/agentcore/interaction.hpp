// InteractionResult: what a turn did, step by step.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/tool.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agentcore {

// One tool call of a turn, as it went.
struct InteractionStep {
  std::string type = "action";  // or "terminated": the last step of a turn that was stopped (I4)
  std::string call_id = {};
  std::string window_id = {};  // empty: an ordinary tool
  std::string action_id = {};
  ToolMode resolved_mode = ToolMode::sync;  // how it was run, by its tool's mode and its agent (L1)
  ToolOutcome outcome = ToolOutcome::not_started;
  bool success = false;
  std::string message = {};  // the result, as the model was told it
  std::string summary = {};
  std::string task_id = {};  // of the background task that it started
  std::uint32_t turn = 0;    // of tools within this interaction, from 1
  std::uint32_t index = 0;   // within the answer, from 1
};

// Kept on every ending: completed, aborted, stopped, failed.
struct InteractionResult {
  bool success = false;
  std::string error = {};                        // why not
  std::string response = {};                     // the answer in words
  std::optional<ToolCall> action = {};           // the last one that was asked for
  std::optional<ToolResult> action_result = {};  // of the last one that gave a result
  std::vector<InteractionStep> steps = {};
  Usage usage = {};                 // of all its model calls, as far as they told it
  std::optional<double> cost = {};  // the same; empty unless that is known of one of them
  // Why tool calls in the last answer could not be read. If the turn completed, `response` is that answer,
  // unchanged (X30).
  std::string parse_error = {};
};

// With camelCase names: {"success":true,"response":"...","steps":[{"callId":...}],"usage":{...}} (M4).
std::string to_json(const InteractionResult& result);

}  // namespace agentcore
