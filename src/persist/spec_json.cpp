#include "persist/spec_json.hpp"

#include "persist/fields.hpp"
#include "turn/conversation.hpp"

namespace agentcore::detail::persist {
template <typename Io, Of<ResponseFormat> T>
void fields(Io& io, T& format) {
  io.always("kind", format.kind, ResponseFormat::Kind::json_schema);
  io.field("name", format.name);
  io.field("schema", format.schema);
  io.field("strict", format.strict, true);
  io.field("validate", format.validate, true);
}

template <typename Io, Of<Compaction> T>
void fields(Io& io, T& compaction) {
  const Compaction usual;
  io.field("prompt", compaction.prompt);
  io.field("model", compaction.model);
  io.field("max_tokens", compaction.max_tokens, usual.max_tokens);
  io.field("budget_tokens", compaction.budget_tokens, usual.budget_tokens);
}

template <typename Io, Of<ContextOptions> T>
void fields(Io& io, T& context) {
  static const ContextOptions usual;
  io.field("max_tokens", context.max_tokens, usual.max_tokens);
  io.field("target_tokens", context.target_tokens, usual.target_tokens);
  io.field("min_conversation_tokens", context.min_conversation_tokens, usual.min_conversation_tokens);
  io.field("archive_bytes", context.archive_bytes, usual.archive_bytes);
  io.number("volatile_place", context.volatile_place, usual.volatile_place, VolatilePlace::system_prompt);
  io.object("compact", context.compact);
}

template <typename Io, Of<Prices> T>
void fields(Io& io, T& prices) {
  io.field("prompt", prices.prompt);
  io.field("completion", prices.completion);
  io.field("cached_prompt", prices.cached_prompt);
  io.field("cache_write", prices.cache_write);
}

template <typename Io, Of<CodeNames> T>
void fields(Io& io, T& code) {
  io.field("llm", code.llm);
  io.field("tools", code.tools);
  io.field("handler", code.handler);
  io.field("tool_policy", code.tool_policy);
  io.field("count_tokens", code.count_tokens);
  io.field("summary_llm", code.summary_llm);
}

template <typename Io, Of<ToolChoice> T>
void items(Io& io, T& choice) {
  io.item(choice.mode, ToolChoice::Mode::named);
  io.item(choice.name);
}

namespace {

// The fields whose code has no name.
std::vector<std::string> unnamed_code(const AgentSpec& spec) {
  std::vector<std::string> unnamed;
  const auto add = [&](const char* field, const std::string& name, bool has_code) {
    if (name.empty() && has_code) unnamed.emplace_back(field);
  };
  add("llm", spec.code.llm, static_cast<bool>(spec.llm));
  add("tools", spec.code.tools, static_cast<bool>(spec.tools));
  add("handler", spec.code.handler, static_cast<bool>(spec.handler));
  add("tool_policy", spec.code.tool_policy, static_cast<bool>(spec.tool_policy));
  add("count_tokens", spec.code.count_tokens, static_cast<bool>(spec.context.count_tokens));
  add("summary_llm", spec.code.summary_llm, spec.context.compact && spec.context.compact->llm);
  return unnamed;
}

// `prompt`: the system message of its history, else its system prompt.
template <typename Io, typename Spec, typename Prompt, typename Names>
void spec_fields(Io& io, Spec& spec, Prompt& prompt, Names& unnamed) {
  static const AgentSpec usual;
  io.field("system_prompt", prompt);
  io.field("model", spec.model.name);
  io.number("role", spec.role, usual.role, AgentRole::user);
  io.field("mailbox_limit", spec.limits.mailbox);
  io.field("auto_resume", spec.auto_resume);
  io.field("temperature", spec.model.temperature);
  io.field("max_tokens", spec.model.max_tokens);
  io.field("top_p", spec.model.top_p);
  io.field("stop_sequences", spec.model.stop_sequences);
  io.field("reasoning_effort", spec.model.reasoning_effort);
  io.field("stream", spec.model.stream, usual.model.stream);
  io.value("response_format", spec.model.response_format, usual.model.response_format);
  io.value("tool_choice", spec.model.tool_choice, usual.model.tool_choice);
  io.number("tool_protocol", spec.tool_protocol, usual.tool_protocol, ToolProtocol::text);
  io.field("max_repairs", spec.limits.repairs, usual.limits.repairs);
  io.field("max_tool_rounds", spec.limits.tool_rounds, usual.limits.tool_rounds);
  io.field("parallel_tool_calls", spec.model.parallel_tool_calls);
  io.field("parallel_tools", spec.limits.parallel_tools, usual.limits.parallel_tools);
  io.duration("turn_timeout", spec.limits.turn_timeout, usual.limits.turn_timeout);
  io.duration("lease", spec.limits.lease, usual.limits.lease);
  io.number("partial_answers", spec.partial_answers, usual.partial_answers,
            PartialAnswers::keep_acknowledged);
  io.field("background_tasks", spec.limits.background_tasks);
  io.field("cache_key", spec.model.cache_key);
  io.object("context", spec.context);
  io.object("budget", spec.limits.budget);
  io.object("subtree_budget", spec.limits.subtree_budget);
  io.object("prices", spec.model.prices);
  io.members("code", [&](auto& members) {
    fields(members, spec.code);
    members.field("unnamed", unnamed);
  });
}

}  // namespace

std::string to_json(const AgentSpec& spec) {
  FieldWriter io;
  const std::vector<std::string> unnamed = unnamed_code(spec);
  spec_fields(io, spec, turn::system_prompt_of(spec), unnamed);
  return io.take();
}

StoredSpec read_spec(std::string_view text) {
  const ParsedRecord parsed(text);
  FieldReader io(*parsed);
  StoredSpec stored;
  spec_fields(io, stored.spec, stored.spec.system_prompt, stored.unnamed);
  return stored;
}

}  // namespace agentcore::detail::persist
