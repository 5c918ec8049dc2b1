#include "tree/options.hpp"

#include "core/json_depth.hpp"
#include "core/validate.hpp"
#include "llm/history_problem.hpp"
#include "turn/conversation.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::detail::tree {
namespace {

std::optional<Error> check_history(const AgentSpec& spec) {
  if (const std::string problem = llm::history_problem(spec.history); !problem.empty())
    return Error{Errc::invalid_history,
                 "AgentSpec::history: " + problem + "; repair_history() makes a valid history of it"};
  const std::string& prompt = turn::system_prompt_of(spec);
  const bool begins_with_prompt = !spec.history.empty() && spec.history.front().role == Role::system;
  if (begins_with_prompt && spec.history.front().content() != prompt)
    return Error{
        Errc::invalid_history,
        "AgentSpec::history: message 1 (system) is not AgentSpec::system_prompt; leave system_prompt "
        "empty to go on with the history's, or remove message 1 to replace it"};
  return std::nullopt;
}

Error wrong(std::string message) {
  return {Errc::invalid_config, std::move(message)};
}

bool is_object_with_members(std::string_view text) {
  if (core::json_depth(text) > core::max_json_depth) return false;
  const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  return value.is_object() && !value.empty();
}

// True for a name of a schema that providers accept. Empty: the default name is sent.
bool is_schema_name(std::string_view name) noexcept {
  return name.size() <= 64 && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '-';
         });
}

std::optional<Error> problem_of(const ResponseFormat& format) {
  if (format.kind != ResponseFormat::Kind::json_schema) return std::nullopt;
  if (!is_object_with_members(format.schema))
    return wrong(
        "AgentSpec::model.response_format.schema must be the text of a JSON object with at least one "
        "member, nested at most " +
        std::to_string(core::max_json_depth) +
        " levels; for JSON without a schema set ResponseFormat::Kind::json_object");
  if (!is_schema_name(format.name))
    return wrong("AgentSpec::model.response_format.name must be at most 64 letters, digits, '_' and '-'");
  return std::nullopt;
}

}  // namespace

void check_options(const TreeOptions& options) {
  core::Validation("TreeOptions")
      .count("max_depth", options.max_depth, 1, 250)
      .count("max_agents", options.max_agents, 1, 134'000'000)
      .count("mailbox_limit", options.mailbox_limit, 1, max_mailbox_limit)
      .count("max_message_bytes", options.max_message_bytes, 1)
      .count("max_answer_bytes", options.max_answer_bytes, 1)
      .count("max_tool_result_bytes", options.max_tool_result_bytes, 1)
      .count("kept_results", options.kept_results, 0, 1'000'000)
      .count("max_lingering_calls", options.max_lingering_calls, 1)
      .not_negative("stop_grace", options.stop_grace)
      .not_negative("tool_timeout", options.tool_timeout)
      .not_negative("question_timeout", options.question_timeout)
      .raise();
}

std::optional<Error> check_spec(const AgentSpec& spec) {
  if (auto problem = check_history(spec)) return problem;
  if (auto problem = problem_of(spec.model.response_format)) return problem;
  if (spec.model.tool_choice.mode == ToolChoice::Mode::named && spec.model.tool_choice.name.empty())
    return wrong("AgentSpec::model.tool_choice.name is empty; Mode::named needs the name of a tool");
  if (spec.role == AgentRole::user && spec.limits.lease != no_limit)
    return wrong(
        "AgentSpec::limits.lease is set for an AgentRole::user, which cannot be stopped; remove one of the "
        "two");
  if (spec.model.cache_key.size() > core::max_cache_key)
    return wrong("AgentSpec::model.cache_key has " + std::to_string(spec.model.cache_key.size()) +
                 " bytes; it must have at most " + std::to_string(core::max_cache_key));
  return core::Validation("AgentSpec")
      .count("limits.mailbox", spec.limits.mailbox.value_or(1), 1, max_mailbox_limit)
      .number("model.temperature", spec.model.temperature.value_or(0), 0, 2)
      .number("model.top_p", spec.model.top_p.value_or(0), 0, 1)
      .count("model.max_tokens", spec.model.max_tokens.value_or(1), 1)
      .count("context.compact.max_tokens", spec.context.compact.value_or(Compaction{}).max_tokens, 1)
      .budget("limits.budget.", spec.limits.budget)
      .budget("limits.subtree_budget.", spec.limits.subtree_budget)
      .prices("model.prices.", spec.model.prices)
      .not_negative("limits.turn_timeout", spec.limits.turn_timeout)
      .positive("limits.lease", spec.limits.lease)
      .problem();
}

}  // namespace agentcore::detail::tree
