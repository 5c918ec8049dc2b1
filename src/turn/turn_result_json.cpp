// The result of a turn as JSON, with camelCase names (M1-M4).
#include "core/json_depth.hpp"

#include <agentcore/turn_result.hpp>

#include <nlohmann/json.hpp>

namespace agentcore {
namespace {

using nlohmann::json;

// A text that is not JSON, or JSON nested too deep to be dumped again, stays a string.
json parsed_or_text(const std::string& text) {
  if (detail::core::json_depth(text) > detail::core::max_json_depth) return text;
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

json written(const ToolCallRecord& call, std::string_view type = "action") {
  json entry{{"type", type},
             {"callId", call.call_id},
             {"windowId", call.window_id},
             {"actionId", call.tool},
             {"resolvedMode", to_string(call.mode)},
             {"outcome", to_string(call.outcome)},
             {"success", call.success},
             {"message", call.message},
             {"summary", call.summary},
             {"turn", call.round},
             {"index", call.index},
             {"byHost", call.by_host}};
  entry["taskId"] = call.task_id.empty() ? json() : json(call.task_id);
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

std::string to_json(const TurnResult& result) {
  json steps = json::array();
  for (const ToolCallRecord& call : result.calls) steps.push_back(written(call));
  // The wording is fixed by requirement I5.
  if (result.outcome == TurnOutcome::stopped || result.outcome == TurnOutcome::interrupted)
    steps.push_back(written({.message = "Task was terminated by user"}, "terminated"));
  const bool failed = !result.success();
  json document{{"success", !failed},
                {"error", failed ? json(result.error.message) : json()},
                {"response", result.text},
                {"action", result.last_call ? written(*result.last_call) : json()},
                {"actionResult", result.last_result ? written(*result.last_result) : json()},
                {"steps", std::move(steps)},
                {"usage",
                 {{"promptTokens", result.usage.prompt_tokens},
                  {"completionTokens", result.usage.completion_tokens},
                  {"totalTokens", result.usage.total_tokens},
                  {"cachedTokens", result.usage.cached_tokens},
                  {"cacheWriteTokens", result.usage.cache_write_tokens},
                  {"reasoningTokens", result.usage.reasoning_tokens},
                  {"complete", result.usage.complete}}},
                {"cost", result.cost ? json(*result.cost) : json()},
                {"parseError", result.parse_error.empty() ? json() : json(result.parse_error)}};
  if (!result.partial.empty()) document["partial"] = result.partial;
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace agentcore
