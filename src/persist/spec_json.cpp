#include "persist/spec_json.hpp"

#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"
#include "turn/conversation.hpp"

namespace agentcore::detail::persist {
namespace {

const AgentSpec& usual_spec() {
  static const AgentSpec usual;
  return usual;
}

std::string format_json(const ResponseFormat& format) {
  RecordText text;
  text.add("kind", static_cast<int>(format.kind));
  text.put("name", format.name);
  text.put("schema", format.schema);
  text.put("strict", format.strict, true);
  text.put("validate", format.validate, true);
  return text.take();
}

ResponseFormat read_format(const json& object) {
  ResponseFormat format;
  get_enum(object, "kind", format.kind, ResponseFormat::Kind::json_schema);
  get(object, "name", format.name);
  get(object, "schema", format.schema);
  get(object, "strict", format.strict);
  get(object, "validate", format.validate);
  return format;
}

std::string compaction_json(const Compaction& compaction) {
  RecordText text;
  const Compaction usual;
  text.put("prompt", compaction.prompt);
  text.put("model", compaction.model);
  text.put("max_tokens", compaction.max_tokens, usual.max_tokens);
  text.put("budget_tokens", compaction.budget_tokens, usual.budget_tokens);
  return text.take();
}

Compaction read_compaction(const json& object) {
  Compaction compaction;
  get(object, "prompt", compaction.prompt);
  get(object, "model", compaction.model);
  get(object, "max_tokens", compaction.max_tokens);
  get(object, "budget_tokens", compaction.budget_tokens);
  return compaction;
}

std::string context_json(const ContextOptions& context) {
  RecordText text;
  const ContextOptions& usual = usual_spec().context;
  text.put("max_tokens", context.max_tokens, usual.max_tokens);
  text.put("target_tokens", context.target_tokens, usual.target_tokens);
  text.put("min_conversation_tokens", context.min_conversation_tokens, usual.min_conversation_tokens);
  text.put("archive_bytes", context.archive_bytes, usual.archive_bytes);
  text.put_enum("volatile_place", context.volatile_place, usual.volatile_place);
  if (context.compact) text.add_json("compact", compaction_json(*context.compact));
  return text.take();
}

ContextOptions read_context(const json& object) {
  ContextOptions context;
  get(object, "max_tokens", context.max_tokens);
  get(object, "target_tokens", context.target_tokens);
  get(object, "min_conversation_tokens", context.min_conversation_tokens);
  get(object, "archive_bytes", context.archive_bytes);
  get_enum(object, "volatile_place", context.volatile_place, VolatilePlace::system_prompt);
  get_object(object, "compact", [&](const json& compact) { context.compact = read_compaction(compact); });
  return context;
}

std::string prices_json(const Prices& prices) {
  RecordText text;
  text.put("prompt", prices.prompt);
  text.put("completion", prices.completion);
  text.put("cached_prompt", prices.cached_prompt);
  text.put("cache_write", prices.cache_write);
  return text.take();
}

Prices read_prices(const json& object) {
  Prices prices;
  get(object, "prompt", prices.prompt);
  get(object, "completion", prices.completion);
  get(object, "cached_prompt", prices.cached_prompt);
  get(object, "cache_write", prices.cache_write);
  return prices;
}

// The names of the code, and under "unnamed" the fields whose code has no name.
std::string code_json(const AgentSpec& spec) {
  RecordText text;
  std::vector<std::string> unnamed;
  const auto add = [&](const char* field, const std::string& name, bool has_code) {
    if (!name.empty())
      text.add(field, std::string_view(name));
    else if (has_code)
      unnamed.emplace_back(field);
  };
  add("llm", spec.code.llm, static_cast<bool>(spec.llm));
  add("tools", spec.code.tools, static_cast<bool>(spec.tools));
  add("handler", spec.code.handler, static_cast<bool>(spec.handler));
  add("tool_policy", spec.code.tool_policy, static_cast<bool>(spec.tool_policy));
  add("count_tokens", spec.code.count_tokens, static_cast<bool>(spec.context.count_tokens));
  add("summary_llm", spec.code.summary_llm, spec.context.compact && spec.context.compact->llm);
  text.put("unnamed", unnamed);
  return text.take();
}

CodeNames read_code(const json& object) {
  CodeNames code;
  get(object, "llm", code.llm);
  get(object, "tools", code.tools);
  get(object, "handler", code.handler);
  get(object, "tool_policy", code.tool_policy);
  get(object, "count_tokens", code.count_tokens);
  get(object, "summary_llm", code.summary_llm);
  return code;
}

std::string choice_json(const ToolChoice& choice) {
  std::string entry = "[";
  RecordText::add_number(entry, static_cast<int>(choice.mode));
  return ((entry += ',') += RecordText::string(choice.name)) += ']';
}

ToolChoice read_choice(const json& value) {
  ToolChoice choice;
  read_enum(entry_of(value, "tool_choice", 0, 2), "tool_choice", choice.mode, ToolChoice::Mode::named);
  read_value(value[1], "tool_choice", choice.name);
  return choice;
}

}  // namespace

std::string to_json(const AgentSpec& spec) {
  const AgentSpec& usual = usual_spec();
  RecordText text;
  text.put("system_prompt", turn::system_prompt_of(spec));
  text.put("model", spec.model.name);
  text.put_enum("role", spec.role, usual.role);
  text.put("mailbox_limit", spec.limits.mailbox);
  text.put("auto_resume", spec.auto_resume);
  text.put("temperature", spec.model.temperature);
  text.put("max_tokens", spec.model.max_tokens);
  text.put("top_p", spec.model.top_p);
  text.put("stop_sequences", spec.model.stop_sequences);
  text.put("reasoning_effort", spec.model.reasoning_effort);
  text.put("stream", spec.model.stream, usual.model.stream);
  if (!(spec.model.response_format == usual.model.response_format))
    text.add_json("response_format", format_json(spec.model.response_format));
  if (!(spec.model.tool_choice == usual.model.tool_choice))
    text.add_json("tool_choice", choice_json(spec.model.tool_choice));
  text.put_enum("tool_protocol", spec.tool_protocol, usual.tool_protocol);
  text.put("max_repairs", spec.limits.repairs, usual.limits.repairs);
  text.put("max_tool_rounds", spec.limits.tool_rounds, usual.limits.tool_rounds);
  text.put("parallel_tool_calls", spec.model.parallel_tool_calls);
  text.put("parallel_tools", spec.limits.parallel_tools, usual.limits.parallel_tools);
  text.put_duration("turn_timeout", spec.limits.turn_timeout, usual.limits.turn_timeout);
  text.put_duration("lease", spec.limits.lease, usual.limits.lease);
  text.put_enum("partial_answers", spec.partial_answers, usual.partial_answers);
  text.put("background_tasks", spec.limits.background_tasks);
  text.put("cache_key", spec.model.cache_key);
  text.put_object("context", context_json(spec.context));
  text.put_object("budget", budget_json(spec.limits.budget));
  text.put_object("subtree_budget", budget_json(spec.limits.subtree_budget));
  text.put_object("prices", prices_json(spec.model.prices));
  text.put_object("code", code_json(spec));
  return text.take();
}

StoredSpec read_spec(std::string_view text) {
  const ParsedRecord parsed(text);
  const json& object = *parsed;
  StoredSpec stored;
  AgentSpec& spec = stored.spec;
  get(object, "system_prompt", spec.system_prompt);
  get(object, "model", spec.model.name);
  get_enum(object, "role", spec.role, AgentRole::user);
  get(object, "mailbox_limit", spec.limits.mailbox);
  get(object, "auto_resume", spec.auto_resume);
  get(object, "temperature", spec.model.temperature);
  get(object, "max_tokens", spec.model.max_tokens);
  get(object, "top_p", spec.model.top_p);
  get(object, "stop_sequences", spec.model.stop_sequences);
  get(object, "reasoning_effort", spec.model.reasoning_effort);
  get(object, "stream", spec.model.stream);
  get_object(object, "response_format",
             [&](const json& value) { spec.model.response_format = read_format(value); });
  if (const auto choice = object.find("tool_choice"); choice != object.end())
    spec.model.tool_choice = read_choice(*choice);
  get_enum(object, "tool_protocol", spec.tool_protocol, ToolProtocol::text);
  get(object, "max_repairs", spec.limits.repairs);
  get(object, "max_tool_rounds", spec.limits.tool_rounds);
  get(object, "parallel_tool_calls", spec.model.parallel_tool_calls);
  get(object, "parallel_tools", spec.limits.parallel_tools);
  get_duration(object, "turn_timeout", spec.limits.turn_timeout);
  get_duration(object, "lease", spec.limits.lease);
  get_enum(object, "partial_answers", spec.partial_answers, PartialAnswers::keep_acknowledged);
  get(object, "background_tasks", spec.limits.background_tasks);
  get(object, "cache_key", spec.model.cache_key);
  get_object(object, "context", [&](const json& value) { spec.context = read_context(value); });
  get_object(object, "budget", [&](const json& value) { spec.limits.budget = read_budget(value); });
  get_object(object, "subtree_budget",
             [&](const json& value) { spec.limits.subtree_budget = read_budget(value); });
  get_object(object, "prices", [&](const json& value) { spec.model.prices = read_prices(value); });
  get_object(object, "code", [&](const json& value) {
    spec.code = read_code(value);
    get(value, "unnamed", stored.unnamed);
  });
  return stored;
}

}  // namespace agentcore::detail::persist
