#include <agentcore/context_presets.hpp>
#include <agentcore/display.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace agentcore {
namespace {

struct Family {
  std::string_view prefix;  // of names, in lower case
  std::size_t window;       // in tokens
};

// Where a name begins with several of them, the longest counts. As published by the makers until November
// 2025.
constexpr std::array families{
    Family{"chatgpt-4o", 128'000},
    Family{"claude-", 200'000},
    Family{"codestral", 256'000},
    Family{"command-a", 256'000},
    Family{"command-r", 128'000},
    Family{"deepseek-chat", 128'000},
    Family{"deepseek-reasoner", 128'000},
    Family{"gemini-1.5-flash", 1'048'576},
    Family{"gemini-1.5-pro", 2'097'152},
    Family{"gemini-2", 1'048'576},
    Family{"glm-4.5", 131'072},
    Family{"glm-4.6", 200'000},
    Family{"gpt-3.5-turbo", 16'385},
    Family{"gpt-4", 8'192},
    Family{"gpt-4-32k", 32'768},
    Family{"gpt-4-turbo", 128'000},
    Family{"gpt-4.1", 1'047'576},
    Family{"gpt-4o", 128'000},
    Family{"gpt-5", 400'000},
    Family{"gpt-oss", 131'072},
    Family{"grok-3", 131'072},
    Family{"grok-4", 256'000},
    Family{"kimi-k2", 131'072},
    Family{"llama-3-", 8'192},
    Family{"llama-3.1", 131'072},
    Family{"llama-3.2", 131'072},
    Family{"llama-3.3", 131'072},
    Family{"ministral", 131'072},
    Family{"mistral-large", 131'072},
    Family{"mistral-medium", 131'072},
    Family{"mistral-small", 32'768},
    Family{"moonshot-v1-128k", 131'072},
    Family{"moonshot-v1-32k", 32'768},
    Family{"moonshot-v1-8k", 8'192},
    Family{"o1", 200'000},
    Family{"o1-mini", 128'000},
    Family{"o1-preview", 128'000},
    Family{"o3", 200'000},
    Family{"o4-mini", 200'000},
    Family{"qwen-max", 32'768},
    Family{"qwen-plus", 131'072},
    Family{"qwen2.5", 32'768},
    Family{"qwen3", 32'768},
    Family{"qwen3-coder", 262'144},
    Family{"qwen3-max", 262'144},
};

// For ASCII only.
std::string lower(std::string_view text) {
  std::string all(text);
  for (char& c : all)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return all;
}

}  // namespace

ContextOptions context_for_window(std::size_t tokens) {
  const std::size_t window = std::max<std::size_t>(tokens, 1);
  ContextOptions options;
  options.max_tokens = window - std::min<std::size_t>(window / 4, 32'000);
  options.target_tokens = std::max<std::size_t>(1, options.max_tokens / 3 * 2);
  return options;
}

Result<ContextOptions> context_for_model(std::string_view model) {
  const std::size_t slash = model.rfind('/');
  const std::string name = lower(slash == model.npos ? model : model.substr(slash + 1));
  const Family* best = nullptr;
  for (const Family& family : families)
    if (name.starts_with(family.prefix) && (!best || family.prefix.size() > best->prefix.size()))
      best = &family;
  if (best) return context_for_window(best->window);
  return Error{Errc::invalid_config,
               "the context window of the model '" + display(model) +
                   "' is not known; use context_for_window() with its number of tokens"};
}

}  // namespace agentcore
