#include "core/utf8.hpp"
#include "llm/http/config.hpp"

#include <agentcore/provider.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace agentcore {
namespace {

// Sorted by name. A new provider is a new row. Servers on the local machine have an address, because
// "localhost" may first be tried over IPv6, where they do not listen. User messages are always joined for
// servers that apply the chat template of any open model, and answers are put between a tool's result and a
// user message. `prompt_cache_key` is sent where it is documented:
// Cerebras, Groq, NVIDIA and some deployments of Azure refuse it. Servers of open models have endpoints in
// the dialects of Anthropic and OpenAI's responses, too, and sign no reasoning there; so have DeepSeek and
// Kimi.
constexpr Provider table[] = {
    {.name = "anthropic",
     .base_url = "https://api.anthropic.com/v1",
     .api_key_env = "ANTHROPIC_API_KEY",
     .dialect = Dialect::anthropic_messages,
     .auth_header = "x-api-key",
     .auth_prefix = "",
     .max_tokens = 4096,  // it refuses a request without a limit
     .headers = detail::llm::anthropic_version_header},
    {.name = "azure",  // https://RESOURCE.openai.azure.com/openai/v1
     .api_key_env = "AZURE_OPENAI_API_KEY",
     .auth_header = "api-key",
     .auth_prefix = "",
     .max_tokens_field = "max_completion_tokens",
     .reasoning = ReasoningRule{.when = ReasoningRule::When::never}},  // it documents no such member
    {.name = "cerebras",
     .base_url = "https://api.cerebras.ai/v1",
     .api_key_env = "CEREBRAS_API_KEY",
     .takes_images = false,
     .reasoning = ReasoningRule{.when = ReasoningRule::When::with_calls,  // it refuses reasoning_content
                                .field = ReasoningRule::Field::reasoning}},
    {.name = "deepseek",
     .base_url = "https://api.deepseek.com/v1",
     .api_key_env = "DEEPSEEK_API_KEY",
     .join_user_messages = JoinUserMessages::always,
     .takes_images = false,
     .reasoning = ReasoningRule{.when = ReasoningRule::When::with_tools,
                                .placeholder = ReasoningRule::Placeholder::blank_text,
                                .same_model = false},
     .takes_unsigned_reasoning = true},
    {.name = "fireworks",
     .base_url = "https://api.fireworks.ai/inference/v1",
     .api_key_env = "FIREWORKS_API_KEY",
     .join_user_messages = JoinUserMessages::always,
     .bridge_tool_results = true},
    {.name = "gemini",
     .base_url = "https://generativelanguage.googleapis.com/v1beta/openai",
     .api_key_env = "GEMINI_API_KEY",
     .tool_names_begin_with_letter = true,
     .sends_empty_schemas = false,
     .reasoning = ReasoningRule{.when = ReasoningRule::When::with_calls,
                                .placeholder = ReasoningRule::Placeholder::google_signature}},
    {.name = "groq",
     .base_url = "https://api.groq.com/openai/v1",
     .api_key_env = "GROQ_API_KEY",
     .reasoning = ReasoningRule{.when = ReasoningRule::When::never}},  // it refuses the member
    {.name = "kimi",
     .base_url = "https://api.moonshot.ai/v1",
     .api_key_env = "MOONSHOT_API_KEY",
     .max_tokens_field = "max_completion_tokens",
     .tool_names_begin_with_letter = true,
     .shortest_tool_name = 3,
     .reasoning = ReasoningRule{.when = ReasoningRule::When::with_calls,
                                .placeholder = ReasoningRule::Placeholder::blank_text},
     .takes_unsigned_reasoning = true},
    {.name = "llamacpp",
     .base_url = "http://127.0.0.1:8080/v1",
     .join_user_messages = JoinUserMessages::always,
     .bridge_tool_results = true,
     .takes_unsigned_reasoning = true},
    {.name = "lmstudio",
     .base_url = "http://127.0.0.1:1234/v1",
     .join_user_messages = JoinUserMessages::always,
     .bridge_tool_results = true,
     .takes_unsigned_reasoning = true},
    {.name = "mistral",
     .base_url = "https://api.mistral.ai/v1",
     .api_key_env = "MISTRAL_API_KEY",
     .tool_call_id_length = 9,
     .join_user_messages = JoinUserMessages::always,  // it refuses a user message after a tool's result, too
     .bridge_tool_results = true,
     .sends_cache_key = true,
     .reasoning = ReasoningRule{.when = ReasoningRule::When::never},  // it refuses unknown members
     .extra_body = R"({"stream_options":null})"},  // it reports the usage by default, and refuses the option
    {.name = "nvidia",
     .base_url = "https://integrate.api.nvidia.com/v1",
     .api_key_env = "NVIDIA_API_KEY",
     .join_user_messages = JoinUserMessages::always,
     .bridge_tool_results = true},
    {.name = "ollama",
     .base_url = "http://127.0.0.1:11434/v1",
     .join_user_messages = JoinUserMessages::always,
     .bridge_tool_results = true,
     .takes_unsigned_reasoning = true},
    {.name = "openai",
     .base_url = "https://api.openai.com/v1",
     .api_key_env = "OPENAI_API_KEY",
     .max_tokens_field = "max_completion_tokens",
     .sends_cache_key = true,
     .reasoning = ReasoningRule{.when = ReasoningRule::When::never}},  // it documents no such member
    {.name = "openai-responses",
     .base_url = "https://api.openai.com/v1",
     .api_key_env = "OPENAI_API_KEY",
     .dialect = Dialect::openai_responses,
     .sends_cache_key = true},
    {.name = "openrouter",
     .base_url = "https://openrouter.ai/api/v1",
     .api_key_env = "OPENROUTER_API_KEY",
     .join_user_messages = JoinUserMessages::always,
     .bridge_tool_results = true,
     .app_url_header = "HTTP-Referer",
     .app_name_header = "X-Title"},
    {.name = "together",
     .base_url = "https://api.together.xyz/v1",
     .api_key_env = "TOGETHER_API_KEY",
     .join_user_messages = JoinUserMessages::always,
     .bridge_tool_results = true},
    {.name = "vllm",
     .base_url = "http://127.0.0.1:8000/v1",
     .join_user_messages = JoinUserMessages::always,
     .bridge_tool_results = true,
     .reasoning = ReasoningRule{.when = ReasoningRule::When::with_calls,
                                .field = ReasoningRule::Field::reasoning,
                                .same_model = false},
     .takes_unsigned_reasoning = true},
    {.name = "xai", .base_url = "https://api.x.ai/v1", .api_key_env = "XAI_API_KEY"},
};

constexpr bool is_sorted_by_name() {
  for (std::size_t i = 1; i < std::size(table); ++i)
    if (!(table[i - 1].name < table[i].name)) return false;
  return true;
}
static_assert(is_sorted_by_name());

Error unknown_provider(std::string_view name) {
  std::string known;
  for (const Provider& provider : table) {
    if (!known.empty()) known += ", ";
    known += provider.name;
  }
  constexpr std::size_t shown = 100;  // characters
  const std::string text = detail::core::valid_utf8(name);
  return {Errc::invalid_config,
          fmt::format("There is no provider \"{}\"; the known providers are {}. For another one, set "
                      "HttpLlmOptions::base_url, and dialect if it does not speak OpenAI's",
                      detail::core::first_characters(text, shown), known)};
}

// Replaces control characters by spaces: they could end the header and begin another one.
std::string header_value(std::string_view text) {
  std::string value(text);
  std::ranges::replace_if(
      value, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  const auto first = value.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return value.substr(first, value.find_last_not_of(' ') - first + 1);
}

void add_header(std::vector<std::string>& headers, std::string_view name, std::string_view text) {
  if (name.empty()) return;
  const std::string value = header_value(text);
  if (!value.empty()) headers.push_back(fmt::format("{}: {}", name, value));
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

}  // namespace

std::span<const Provider> providers() noexcept {
  return table;
}

Result<HttpLlmOptions> provider_options(std::string_view name, const AppIdentity& app) {
  const Provider* const provider = std::ranges::lower_bound(table, name, {}, &Provider::name);
  if (provider == std::end(table) || provider->name != name) return unknown_provider(name);
  HttpLlmOptions options;
  options.base_url = provider->base_url;
  options.api_key_env = provider->api_key_env;
  options.dialect = provider->dialect;
  options.auth_header = provider->auth_header;
  options.auth_prefix = provider->auth_prefix;
  options.max_tokens_field = provider->max_tokens_field;
  options.max_tokens = provider->max_tokens;
  options.tool_call_id_length = provider->tool_call_id_length;
  options.join_user_messages = provider->join_user_messages;
  options.sends_cache_key = provider->sends_cache_key;
  options.bridge_tool_results = provider->bridge_tool_results;
  options.tool_names_begin_with_letter = provider->tool_names_begin_with_letter;
  options.shortest_tool_name = provider->shortest_tool_name;
  options.sends_empty_schemas = provider->sends_empty_schemas;
  options.takes_images = provider->takes_images;
  options.reasoning = provider->reasoning;
  options.takes_unsigned_reasoning = provider->takes_unsigned_reasoning;
  options.extra_body = provider->extra_body;
  options.headers = lines_of(provider->headers);
  add_header(options.headers, provider->app_url_header, app.url);
  add_header(options.headers, provider->app_name_header, app.name);
  return options;
}

}  // namespace agentcore
