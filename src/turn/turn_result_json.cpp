// The result of a turn as JSON, with camelCase names (M1-M4).
#include "core/json_depth.hpp"
#include "core/json_text.hpp"

#include <agentcore/turn_result.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore {
namespace {

// Texts of JSON, and not values of nlohmann::json: their destructors allocate, and a failure of that would
// end the process.
using Members = std::map<std::string_view, std::string>;  // sorted by name

std::string string_of(std::string_view text) {
  return detail::core::json_string(std::string(text));
}

std::string flag(bool value) {
  return value ? "true" : "false";
}

std::string object(const Members& members) {
  std::string text = "{";
  for (const auto& [name, value] : members)
    text.append(text.size() > 1 ? "," : "").append(string_of(name)).append(":").append(value);
  return text += '}';
}

// A text that is not JSON, or JSON nested too deep to be read again, becomes a string.
std::string as_json_or_text(const std::string& text) {
  if (detail::core::json_depth(text) > detail::core::max_json_depth || !nlohmann::json::accept(text))
    return string_of(text);
  std::string line = text;  // a line break can only be between two values
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

std::string written(const ToolCallRecord& call, std::string_view type = "action") {
  return object({{"type", string_of(type)},
                 {"callId", string_of(call.call_id)},
                 {"windowId", string_of(call.window_id)},
                 {"actionId", string_of(call.tool)},
                 {"resolvedMode", string_of(to_string(call.mode))},
                 {"outcome", string_of(to_string(call.outcome))},
                 {"success", flag(call.success)},
                 {"message", string_of(call.message)},
                 {"summary", string_of(call.summary)},
                 {"turn", std::to_string(call.round)},
                 {"index", std::to_string(call.index)},
                 {"byHost", flag(call.by_host)},
                 {"taskId", call.task_id.empty() ? "null" : string_of(call.task_id)}});
}

std::string written(const Launch& launch) {
  return object({{"app", string_of(launch.app)},
                 {"target", launch.target.empty() ? "null" : as_json_or_text(launch.target)}});
}

std::string written(const ToolResult& result) {
  return object({{"success", flag(result.success)},
                 {"message", string_of(result.message)},
                 {"summary", string_of(result.summary)},
                 {"data", result.data.empty() ? "null" : as_json_or_text(result.data)},
                 {"launch", result.launch ? written(*result.launch) : "null"},
                 {"closeSource", flag(result.close_source)}});
}

std::string written(const ToolCall& call) {
  return object({{"callId", string_of(call.id)},
                 {"windowId", string_of(call.window_id)},
                 {"name", string_of(call.name)},
                 {"params", call.arguments.empty() ? "{}" : as_json_or_text(call.arguments)}});
}

std::string written(const Usage& usage) {
  return object({{"promptTokens", std::to_string(usage.prompt_tokens)},
                 {"completionTokens", std::to_string(usage.completion_tokens)},
                 {"totalTokens", std::to_string(usage.total_tokens)},
                 {"cachedTokens", std::to_string(usage.cached_tokens)},
                 {"cacheWriteTokens", std::to_string(usage.cache_write_tokens)},
                 {"reasoningTokens", std::to_string(usage.reasoning_tokens)},
                 {"complete", flag(usage.complete)}});
}

std::string written_steps(const TurnResult& result) {
  std::string steps;
  for (const ToolCallRecord& call : result.calls)
    steps.append(steps.empty() ? "" : ",").append(written(call));
  // The wording is fixed by requirement I5.
  if (result.outcome == TurnOutcome::stopped || result.outcome == TurnOutcome::interrupted)
    steps.append(steps.empty() ? "" : ",")
        .append(written({.message = "Task was terminated by user"}, "terminated"));
  return "[" + steps + "]";
}

}  // namespace

std::string to_json(const TurnResult& result) {
  const bool failed = !result.success();
  Members members{{"success", flag(!failed)},
                  {"error", failed ? string_of(result.error.message) : "null"},
                  {"response", string_of(result.text)},
                  {"action", result.last_call ? written(*result.last_call) : "null"},
                  {"actionResult", result.last_result ? written(*result.last_result) : "null"},
                  {"steps", written_steps(result)},
                  {"usage", written(result.usage)},
                  {"cost", result.cost ? nlohmann::json(*result.cost).dump() : "null"},
                  {"parseError", result.parse_error.empty() ? "null" : string_of(result.parse_error)}};
  if (!result.partial.empty()) members.emplace("partial", string_of(result.partial));
  return object(members);
}

}  // namespace agentcore
