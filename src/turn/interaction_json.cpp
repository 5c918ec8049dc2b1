// The result of a turn as JSON, with camelCase names (M1-M4).
#include "core/json_depth.hpp"

#include <agentcore/interaction.hpp>

#include <nlohmann/json.hpp>

namespace agentcore {
namespace {

using nlohmann::json;

// A text that is no JSON, or JSON nested too deep to be dumped again, stays a string.
json parsed_or_text(const std::string& text) {
  if (core::json_depth(text) > core::max_json_depth) return text;
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

json written(const InteractionStep& step) {
  json entry{{"type", step.type},
             {"callId", step.call_id},
             {"windowId", step.window_id},
             {"actionId", step.action_id},
             {"resolvedMode", to_string(step.resolved_mode)},
             {"outcome", to_string(step.outcome)},
             {"success", step.success},
             {"message", step.message},
             {"summary", step.summary},
             {"turn", step.turn},
             {"index", step.index}};
  entry["taskId"] = step.task_id.empty() ? json() : json(step.task_id);
  return entry;
}

json written(const Launch& launch) {
  return {{"app", launch.app}, {"target", launch.target.empty() ? json() : parsed_or_text(launch.target)}};
}

json written(const ToolResult& result) {
  return {{"success", result.success},
          {"message", result.message},
          {"summary", result.summary},
          {"data", result.data.empty() ? json() : parsed_or_text(result.data)},
          {"launch", result.launch ? written(*result.launch) : json()},
          {"closeSource", result.close_source}};
}

json written(const ToolCall& call) {
  return {{"callId", call.id},
          {"windowId", call.window_id},
          {"name", call.name},
          {"params", call.arguments.empty() ? json::object() : parsed_or_text(call.arguments)}};
}

}  // namespace

std::string to_json(const InteractionResult& result) {
  json steps = json::array();
  for (const InteractionStep& step : result.steps) steps.push_back(written(step));
  const json document{{"success", result.success},
                      {"error", result.error.empty() ? json() : json(result.error)},
                      {"response", result.response},
                      {"action", result.action ? written(*result.action) : json()},
                      {"actionResult", result.action_result ? written(*result.action_result) : json()},
                      {"steps", std::move(steps)},
                      {"usage",
                       {{"promptTokens", result.usage.prompt_tokens},
                        {"completionTokens", result.usage.completion_tokens},
                        {"totalTokens", result.usage.total_tokens},
                        {"cachedTokens", result.usage.cached_tokens},
                        {"reasoningTokens", result.usage.reasoning_tokens},
                        {"complete", result.usage.complete}}},
                      {"parseError", result.parse_error.empty() ? json() : json(result.parse_error)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace agentcore
