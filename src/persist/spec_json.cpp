#include "persist/spec_json.hpp"

#include "persist/json_fields.hpp"
#include "turn/conversation.hpp"

namespace agentcore::detail::persist {
namespace {

const AgentSpec& usual_spec() {
  static const AgentSpec usual;
  return usual;
}

json format_json(const ResponseFormat& format) {
  json object{{"kind", static_cast<int>(format.kind)}};
  put(object, "name", format.name);
  put(object, "schema", format.schema);
  put(object, "strict", format.strict, true);
  put(object, "validate", format.validate, true);
  return object;
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

json compaction_json(const Compaction& compaction) {
  json object = json::object();
  const Compaction usual;
  put(object, "prompt", compaction.prompt);
  put(object, "model", compaction.model);
  put(object, "max_tokens", compaction.max_tokens, usual.max_tokens);
  put(object, "budget_tokens", compaction.budget_tokens, usual.budget_tokens);
  return object;
}

Compaction read_compaction(const json& object) {
  Compaction compaction;
  get(object, "prompt", compaction.prompt);
  get(object, "model", compaction.model);
  get(object, "max_tokens", compaction.max_tokens);
  get(object, "budget_tokens", compaction.budget_tokens);
  return compaction;
}

json context_json(const ContextOptions& context) {
  json object = json::object();
  const ContextOptions& usual = usual_spec().context;
  put(object, "max_tokens", context.max_tokens, usual.max_tokens);
  put(object, "target_tokens", context.target_tokens, usual.target_tokens);
  put(object, "min_conversation_tokens", context.min_conversation_tokens, usual.min_conversation_tokens);
  put(object, "archive_bytes", context.archive_bytes, usual.archive_bytes);
  put_enum(object, "volatile_place", context.volatile_place, usual.volatile_place);
  if (context.compact) object["compact"] = compaction_json(*context.compact);
  return object;
}

ContextOptions read_context(const json& object) {
  ContextOptions context;
  get(object, "max_tokens", context.max_tokens);
  get(object, "target_tokens", context.target_tokens);
  get(object, "min_conversation_tokens", context.min_conversation_tokens);
  get(object, "archive_bytes", context.archive_bytes);
  get_enum(object, "volatile_place", context.volatile_place, VolatilePlace::system_prompt);
  if (const auto compact = object.find("compact"); compact != object.end())
    context.compact = read_compaction(*compact);
  return context;
}

json prices_json(const Prices& prices) {
  json object = json::object();
  put(object, "prompt", prices.prompt);
  put(object, "completion", prices.completion);
  put(object, "cached_prompt", prices.cached_prompt);
  put(object, "cache_write", prices.cache_write);
  return object;
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
json code_json(const AgentSpec& spec) {
  json object = json::object();
  const auto add = [&object](const char* field, const std::string& name, bool has_code) {
    if (!name.empty())
      object[field] = name;
    else if (has_code)
      object["unnamed"].push_back(field);
  };
  add("llm", spec.code.llm, static_cast<bool>(spec.llm));
  add("tools", spec.code.tools, static_cast<bool>(spec.tools));
  add("handler", spec.code.handler, static_cast<bool>(spec.handler));
  add("tool_policy", spec.code.tool_policy, static_cast<bool>(spec.tool_policy));
  add("count_tokens", spec.code.count_tokens, static_cast<bool>(spec.context.count_tokens));
  add("summary_llm", spec.code.summary_llm, spec.context.compact && spec.context.compact->llm);
  return object;
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

void put_object(json& object, const char* name, json&& value) {
  if (!value.empty()) object[name] = std::move(value);
}

// Calls read(member) if the object has it.
template <typename Read>
void read_object(const json& object, const char* name, Read&& read) {
  if (const auto found = object.find(name); found != object.end()) read(*found);
}

}  // namespace

std::string to_json(const AgentSpec& spec) {
  const AgentSpec& usual = usual_spec();
  json object = json::object();
  put(object, "system_prompt", turn::system_prompt_of(spec));
  put(object, "model", spec.model);
  put_enum(object, "role", spec.role, usual.role);
  put(object, "mailbox_limit", spec.mailbox_limit);
  put(object, "auto_resume", spec.auto_resume);
  put(object, "temperature", spec.temperature);
  put(object, "max_tokens", spec.max_tokens);
  put(object, "top_p", spec.top_p);
  put(object, "stop_sequences", spec.stop_sequences);
  put(object, "reasoning_effort", spec.reasoning_effort);
  put(object, "stream", spec.stream, usual.stream);
  if (!(spec.response_format == usual.response_format))
    object["response_format"] = format_json(spec.response_format);
  if (!(spec.tool_choice == usual.tool_choice))
    object["tool_choice"] = {static_cast<int>(spec.tool_choice.mode), spec.tool_choice.name};
  put_enum(object, "tool_protocol", spec.tool_protocol, usual.tool_protocol);
  put(object, "max_repairs", spec.max_repairs, usual.max_repairs);
  put(object, "max_tool_rounds", spec.max_tool_rounds, usual.max_tool_rounds);
  put(object, "parallel_tool_calls", spec.parallel_tool_calls);
  put(object, "parallel_tools", spec.parallel_tools, usual.parallel_tools);
  put_duration(object, "turn_timeout", spec.turn_timeout, usual.turn_timeout);
  put_duration(object, "lease", spec.lease, usual.lease);
  put_enum(object, "partial_answers", spec.partial_answers, usual.partial_answers);
  put(object, "background_tasks", spec.background_tasks);
  put(object, "cache_key", spec.cache_key);
  put_object(object, "context", context_json(spec.context));
  put_object(object, "budget", budget_json(spec.budget));
  put_object(object, "subtree_budget", budget_json(spec.subtree_budget));
  put_object(object, "prices", prices_json(spec.prices));
  put_object(object, "code", code_json(spec));
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

StoredSpec read_spec(std::string_view text) {
  const json object = parse_object(text);
  StoredSpec stored;
  AgentSpec& spec = stored.spec;
  get(object, "system_prompt", spec.system_prompt);
  get(object, "model", spec.model);
  get_enum(object, "role", spec.role, AgentRole::user);
  get(object, "mailbox_limit", spec.mailbox_limit);
  get(object, "auto_resume", spec.auto_resume);
  get(object, "temperature", spec.temperature);
  get(object, "max_tokens", spec.max_tokens);
  get(object, "top_p", spec.top_p);
  get(object, "stop_sequences", spec.stop_sequences);
  get(object, "reasoning_effort", spec.reasoning_effort);
  get(object, "stream", spec.stream);
  read_object(object, "response_format",
              [&](const json& value) { spec.response_format = read_format(value); });
  read_object(object, "tool_choice", [&](const json& value) {
    if (value.at(0).get<int>() > static_cast<int>(ToolChoice::Mode::named))
      throw json::other_error::create(501, "tool_choice has an unknown value", &value);
    spec.tool_choice = {static_cast<ToolChoice::Mode>(value.at(0).get<int>()),
                        value.at(1).get<std::string>()};
  });
  get_enum(object, "tool_protocol", spec.tool_protocol, ToolProtocol::text);
  get(object, "max_repairs", spec.max_repairs);
  get(object, "max_tool_rounds", spec.max_tool_rounds);
  get(object, "parallel_tool_calls", spec.parallel_tool_calls);
  get(object, "parallel_tools", spec.parallel_tools);
  get_duration(object, "turn_timeout", spec.turn_timeout);
  get_duration(object, "lease", spec.lease);
  get_enum(object, "partial_answers", spec.partial_answers, PartialAnswers::keep_acknowledged);
  get(object, "background_tasks", spec.background_tasks);
  get(object, "cache_key", spec.cache_key);
  read_object(object, "context", [&](const json& value) { spec.context = read_context(value); });
  read_object(object, "budget", [&](const json& value) { spec.budget = read_budget(value); });
  read_object(object, "subtree_budget", [&](const json& value) { spec.subtree_budget = read_budget(value); });
  read_object(object, "prices", [&](const json& value) { spec.prices = read_prices(value); });
  read_object(object, "code", [&](const json& value) {
    spec.code = read_code(value);
    get(value, "unnamed", stored.unnamed);
  });
  return stored;
}

}  // namespace agentcore::detail::persist
