#include <agentcore/budget.hpp>

#include <algorithm>

namespace agentcore {

double cost_of(const Usage& usage, const Prices& prices) noexcept {
  const std::uint64_t cached = std::min(usage.cached_tokens, usage.prompt_tokens);
  const std::uint64_t written = std::min(usage.cache_write_tokens, usage.prompt_tokens - cached);
  return (static_cast<double>(usage.prompt_tokens - cached - written) * prices.prompt +
          static_cast<double>(written) * prices.cache_write.value_or(prices.prompt) +
          static_cast<double>(cached) * prices.cached_prompt.value_or(prices.prompt) +
          static_cast<double>(usage.completion_tokens) * prices.completion) /
         1e6;
}

}  // namespace agentcore
