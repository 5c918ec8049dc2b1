#include "testing/request_rules.hpp"

#include <algorithm>
#include <array>

namespace agentcore::detail::testing {
namespace {

// Sources, documents and public reports of errors, as they were on 2026-11-27 (docs/providers.md has more):
// [openai]     platform.openai.com/docs/api-reference/chat and /responses, and its errors: "Invalid
//              'messages[2].tool_calls[0].function.name': string does not match pattern", "Invalid
//              'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40",
//              "object schema missing properties", "array schema missing items" (also of a value within the
//              parameters: "In context=('properties', 'x')"), "Item 'rs_...' of type 'reasoning' was provided
//              without its required following item"
// [anthropic]  platform.claude.com/docs/en/api/messages, /build-with-claude/extended-thinking and
//              /agents-and-tools/tool-use/implement-tool-use
// [deepseek]   api-docs.deepseek.com/guides/thinking_mode: with tools, the reasoning_content of every answer
//              must be passed back; messages have only text
// [mistral]    mistralai/mistral-common, src/mistral_common/protocol/instruct/validator.py: "Unexpected role
//              'user' after role 'tool'", "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of
//              9", "Assistant message must have either content or tool_calls", the order of roles, the last
//              role
// [templates]  the chat templates of Mistral's open models, as llama.cpp, vLLM, LM Studio and Ollama apply
//              them: "After the optional system message, conversation roles must alternate user and assistant
//              roles except for tool calls and results" (llama.cpp issue 19851, vLLM issue 6862)
// [kimi]       platform.moonshot.ai/docs/api/tool-use: names match ^[a-zA-Z_][a-zA-Z0-9-_]{2,63}$, at most
// 128
//              tools; its errors "the message at position 72 with role 'assistant' must not be empty" and
//              "thinking is enabled but reasoning_content is missing in assistant tool call message"
// [gemini]     ai.google.dev/gemini-api/docs/openai and /thought-signatures; its errors "Invalid function
// name.
//              Must start with a letter or an underscore", "parameters.properties: should be non-empty for
//              OBJECT type" (of the parameters; nested ones may be empty, vercel/ai pull request 11319),
//              "items: missing field", "required[0]: property is not defined" (kilocode issue 11950),
//              "properties: only allowed for OBJECT type" (opencode issue 11889), "Function call is missing a
//              thought_signature in functionCall parts"
// [groq]       its error "property 'reasoning_content' is unsupported"
// [cerebras]   the same error; its reasoning is named `reasoning`
// [openrouter] openrouter.ai/docs/use-cases/reasoning-tokens: reasoning_details
constexpr RequestRules of_templates(std::string_view provider) {
  return {.provider = provider,
          .longest_id = 0,
          .alternates = true,
          .user_after_result = false,
          .user_first = true,
          .answer_last = false,
          .answer_members = "reasoning reasoning_content"};
}

// A server that signs nothing, in no dialect that it speaks.
constexpr RequestRules of_local(std::string_view provider) {
  RequestRules local = of_templates(provider);
  local.unsigned_reasoning = true;
  return local;
}

// A gateway to models of all kinds: the strictest of each.
constexpr RequestRules openrouter() {
  RequestRules rules = of_templates("openrouter");
  rules.longest_id = 40;
  rules.answer_members = "reasoning reasoning_content reasoning_details";
  return rules;
}

constexpr std::array rows = std::to_array<RequestRules>({
    {.provider = "anthropic",  // [anthropic]
     .form = RequestForm::messages,
     .longest_id = 0,
     .user_first = true},
    {.provider = "azure",  // [openai]
     .developer_role = true,
     .empty_texts = true,
     .max_tokens = false},
    {.provider = "cerebras", .images = false, .answer_members = "reasoning"},  // [cerebras]
    {.provider = "deepseek",                                                   // [deepseek]
     .longest_id = 0,
     .images = false,
     .answer_members = "reasoning_content prefix",
     .reasoning_back = ReasoningBack::with_tools,
     .unsigned_reasoning = true},
    of_templates("fireworks"),  // [templates]
    {.provider = "gemini",      // [gemini]
     .name_begins_with_letter = true,
     .longest_id = 0,
     .empty_schema = false,
     .known_required = true,
     .user_first = true,
     .answer_members = "extra_content",
     .signed_calls = true},
    {.provider = "groq", .answer_members = "reasoning"},  // [groq]
    {.provider = "kimi",                                  // [kimi]
     .shortest_name = 3,
     .name_begins_with_letter = true,
     .longest_id = 0,
     .answer_members = "reasoning_content partial",
     .reasoning_back = ReasoningBack::with_calls,
     .unsigned_reasoning = true},
    of_local("llamacpp"),    // [templates]
    of_local("lmstudio"),    // [templates]
    {.provider = "mistral",  // [mistral]; its API joins user messages by itself, its older models do not
     .exact_id = 9,
     .alternates = true,
     .user_after_result = false,
     .user_first = true,
     .answer_last = false,
     .answer_members = "prefix",
     .stream_options = false,
     .cache_key = true},
    of_templates("nvidia"),  // [templates]
    of_local("ollama"),      // [templates]
    {.provider = "openai",   // [openai]
     .developer_role = true,
     .empty_texts = true,
     .max_tokens = false,
     .cache_key = true},
    {.provider = "openai-responses",  // [openai]
     .form = RequestForm::responses,
     .longest_id = 64,
     .developer_role = true,
     .empty_texts = true,
     .cache_key = true},
    openrouter(),                                                // [openrouter], [templates], [openai]
    of_templates("together"),                                    // [templates]
    of_local("vllm"),                                            // [templates]
    {.provider = "xai", .answer_members = "reasoning_content"},  // as OpenAI's; its models have this member
});
static_assert(std::ranges::is_sorted(rows, {}, &RequestRules::provider));

}  // namespace

std::span<const RequestRules> all_request_rules() noexcept {
  return rows;
}

const RequestRules* request_rules(std::string_view provider) noexcept {
  const auto found = std::ranges::lower_bound(rows, provider, {}, &RequestRules::provider);
  return found != rows.end() && found->provider == provider ? &*found : nullptr;
}

}  // namespace agentcore::detail::testing
