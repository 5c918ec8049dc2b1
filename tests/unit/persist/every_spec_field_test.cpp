// Each field of a spec that is no code is in its record.
#include "persist/spec_json.hpp"
#include "support/catch.hpp"
#include "unit/persist/every_field.hpp"

#include <agentcore/agent_spec.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail;
using namespace std::chrono_literals;
using agentcore::test::check_fields;
using agentcore::test::count_of;
using agentcore::test::Field;

TEST_CASE("every field of the record of a spec is kept", "[persist][restore][code][G14]") {
  AgentSpec usual;
  usual.context.compact.emplace();
  // Code is not kept, but for its names. The id is in the record of the agent, and the history in its
  // messages.
  const auto& [id, system_prompt, model, llm, handler, role, auto_resume, tools, tool_protocol, tool_policy,
               limits, context, history, partial_answers, code] = usual;
  const auto& [name, temperature, max_tokens, top_p, stop_sequences, reasoning_effort, stream,
               response_format, tool_choice, parallel_tool_calls, cache_key, prices] = model;
  const auto& [mailbox, repairs, tool_rounds, parallel_tools, background_tasks, turn_timeout, lease, budget,
               subtree_budget] = limits;
  static_cast<void>(count_of(id, llm, handler, tools, tool_policy, history));
  const auto& [context_tokens, target_tokens, min_conversation_tokens, compact, archive_bytes, volatile_place,
               count_tokens] = context;
  const auto& [summary_prompt, summary_model, summary_client, summary_max_tokens, budget_tokens] = *compact;
  static_cast<void>(count_of(count_tokens, summary_client));
  const auto& [format_kind, format_name, schema, strict, validate] = response_format;
  const auto& [choice_mode, choice_name] = tool_choice;
  const auto& [turns, tokens, cost, wall_clock] = budget;
  const auto& [llm_name, tools_name, handler_name, policy_name, counter_name, summary_name] = code;
  const auto& [prompt, completion, cached_prompt, cache_write] = prices;
  const std::size_t kept =
      count_of(system_prompt, name, role, mailbox, auto_resume, temperature, max_tokens, top_p,
               stop_sequences, reasoning_effort, stream, tool_protocol, repairs, tool_rounds,
               parallel_tool_calls, parallel_tools, turn_timeout, lease, partial_answers, background_tasks,
               cache_key) +
      count_of(context_tokens, target_tokens, min_conversation_tokens, compact, archive_bytes,
               volatile_place) +
      count_of(summary_prompt, summary_model, summary_max_tokens, budget_tokens) +
      count_of(format_kind, format_name, schema, strict, validate) + count_of(choice_mode, choice_name) +
      2 * count_of(turns, tokens, cost, wall_clock) +
      count_of(llm_name, tools_name, handler_name, policy_name, counter_name, summary_name) +
      count_of(prompt, completion, cached_prompt, cache_write);
  std::vector<Field<AgentSpec>> fields{
      {"system_prompt", [](AgentSpec& spec) { spec.system_prompt = "t"; }},
      {"model", [](AgentSpec& spec) { spec.model.name = "t"; }},
      {"role", [](AgentSpec& spec) { spec.role = AgentRole::system; }},
      {"role", [](AgentSpec& spec) { spec.role = AgentRole::user; }},
      {"mailbox_limit", [](AgentSpec& spec) { spec.limits.mailbox = 0; }},
      {"mailbox_limit", [](AgentSpec& spec) { spec.limits.mailbox = 7; }},
      {"auto_resume", [](AgentSpec& spec) { spec.auto_resume = true; }},
      {"temperature", [](AgentSpec& spec) { spec.model.temperature = 0; }},
      {"temperature", [](AgentSpec& spec) { spec.model.temperature = 0.5; }},
      {"max_tokens", [](AgentSpec& spec) { spec.model.max_tokens = 7; }},
      {"top_p", [](AgentSpec& spec) { spec.model.top_p = 0; }},
      {"top_p", [](AgentSpec& spec) { spec.model.top_p = 0.5; }},
      {"stop_sequences",
       [](AgentSpec& spec) {
         spec.model.stop_sequences = {"t", "u"};
       }},
      {"reasoning_effort", [](AgentSpec& spec) { spec.model.reasoning_effort = "t"; }},
      {"stream", [](AgentSpec& spec) { spec.model.stream = false; }},
      {"format_kind",
       [](AgentSpec& spec) { spec.model.response_format.kind = ResponseFormat::Kind::json_object; }},
      {"format_kind",
       [](AgentSpec& spec) { spec.model.response_format.kind = ResponseFormat::Kind::json_schema; }},
      {"format_name", [](AgentSpec& spec) { spec.model.response_format.name = "t"; }},
      {"schema", [](AgentSpec& spec) { spec.model.response_format.schema = "t"; }},
      {"strict",
       [](AgentSpec& spec) { spec.model.response_format.strict = !spec.model.response_format.strict; }},
      {"validate", [](AgentSpec& spec) { spec.model.response_format.validate = false; }},
      {"choice_mode", [](AgentSpec& spec) { spec.model.tool_choice.mode = ToolChoice::Mode::none; }},
      {"choice_mode", [](AgentSpec& spec) { spec.model.tool_choice.mode = ToolChoice::Mode::required; }},
      {"choice_mode", [](AgentSpec& spec) { spec.model.tool_choice.mode = ToolChoice::Mode::named; }},
      {"choice_name", [](AgentSpec& spec) { spec.model.tool_choice.name = "t"; }},
      {"tool_protocol", [](AgentSpec& spec) { spec.tool_protocol = ToolProtocol::text; }},
      {"max_repairs", [](AgentSpec& spec) { spec.limits.repairs = 7; }},
      {"max_tool_rounds", [](AgentSpec& spec) { spec.limits.tool_rounds = 7; }},
      {"parallel_tool_calls", [](AgentSpec& spec) { spec.model.parallel_tool_calls = false; }},
      {"parallel_tool_calls", [](AgentSpec& spec) { spec.model.parallel_tool_calls = true; }},
      {"parallel_tools", [](AgentSpec& spec) { spec.limits.parallel_tools = 7; }},
      {"turn_timeout", [](AgentSpec& spec) { spec.limits.turn_timeout = 7ns; }},
      {"lease", [](AgentSpec& spec) { spec.limits.lease = 7ns; }},
      {"partial_answers", [](AgentSpec& spec) { spec.partial_answers = PartialAnswers::keep; }},
      {"partial_answers", [](AgentSpec& spec) { spec.partial_answers = PartialAnswers::keep_acknowledged; }},
      {"background_tasks", [](AgentSpec& spec) { spec.limits.background_tasks = 7; }},
      {"cache_key", [](AgentSpec& spec) { spec.model.cache_key = "t"; }},
      {"context_tokens", [](AgentSpec& spec) { spec.context.max_tokens = 7; }},
      {"target_tokens", [](AgentSpec& spec) { spec.context.target_tokens = 7; }},
      {"min_conversation_tokens", [](AgentSpec& spec) { spec.context.min_conversation_tokens = 7; }},
      {"compact", [](AgentSpec& spec) { spec.context.compact.reset(); }},
      {"archive_bytes", [](AgentSpec& spec) { spec.context.archive_bytes = 7; }},
      {"volatile_place", [](AgentSpec& spec) { spec.context.volatile_place = VolatilePlace::system_prompt; }},
      {"summary_prompt", [](AgentSpec& spec) { spec.context.compact->prompt = "t"; }},
      {"summary_model", [](AgentSpec& spec) { spec.context.compact->model = "t"; }},
      {"summary_max_tokens", [](AgentSpec& spec) { spec.context.compact->max_tokens = 7; }},
      {"budget_tokens", [](AgentSpec& spec) { spec.context.compact->budget_tokens = 7; }},
      {"llm_name", [](AgentSpec& spec) { spec.code.llm = "t"; }},
      {"tools_name", [](AgentSpec& spec) { spec.code.tools = "t"; }},
      {"handler_name", [](AgentSpec& spec) { spec.code.handler = "t"; }},
      {"policy_name", [](AgentSpec& spec) { spec.code.tool_policy = "t"; }},
      {"counter_name", [](AgentSpec& spec) { spec.code.count_tokens = "t"; }},
      {"summary_name", [](AgentSpec& spec) { spec.code.summary_llm = "t"; }},
      {"prompt", [](AgentSpec& spec) { spec.model.prices.prompt = 0.5; }},
      {"completion", [](AgentSpec& spec) { spec.model.prices.completion = 0.5; }},
      {"cached_prompt", [](AgentSpec& spec) { spec.model.prices.cached_prompt = 0; }},
      {"cached_prompt", [](AgentSpec& spec) { spec.model.prices.cached_prompt = 0.5; }},
      {"cache_write", [](AgentSpec& spec) { spec.model.prices.cache_write = 0; }},
      {"cache_write", [](AgentSpec& spec) { spec.model.prices.cache_write = 0.5; }}};
  const auto add_budget = [&](const std::string& of, Budget AgentLimits::*member) {
    fields.push_back({of + "turns", [member](AgentSpec& spec) { (spec.limits.*member).turns = 7; }});
    fields.push_back({of + "tokens", [member](AgentSpec& spec) { (spec.limits.*member).tokens = 7; }});
    fields.push_back({of + "cost", [member](AgentSpec& spec) { (spec.limits.*member).cost = 0.5; }});
    fields.push_back(
        {of + "wall_clock", [member](AgentSpec& spec) { (spec.limits.*member).wall_clock = 7ns; }});
  };
  add_budget("own ", &AgentLimits::budget);
  add_budget("subtree ", &AgentLimits::subtree_budget);
  check_fields(
      usual, kept, fields, [](const AgentSpec& spec) { return persist::to_json(spec); },
      [](const std::string& text) { return persist::read_spec(text).spec; });
}
