#include "llm/dialects/usage_counts.hpp"

#include <algorithm>

namespace agentcore::detail::llm {

void UsageCounts::merge(const UsageCounts& newer) noexcept {
  const auto take = [](Count& count, const Count& said) { count = said ? said : count; };
  if (newer.prompt || newer.cache_written || newer.cache_read || newer.completion) total.reset();
  take(prompt, newer.prompt);
  take(cache_written, newer.cache_written);
  take(cache_read, newer.cache_read);
  take(completion, newer.completion);
  take(reasoning, newer.reasoning);
  take(total, newer.total);
  apart = apart || newer.apart;
}

Usage UsageCounts::usage() const noexcept {
  Usage sum;
  sum.cached_tokens = cache_read.value_or(0);
  sum.cache_write_tokens = cache_written.value_or(0);
  sum.reasoning_tokens = reasoning.value_or(0);
  sum.prompt_tokens = prompt.value_or(0);
  if (apart) sum.prompt_tokens += sum.cache_write_tokens + sum.cached_tokens;
  sum.completion_tokens = completion.value_or(0);
  const std::uint64_t parts = sum.prompt_tokens + sum.completion_tokens;
  sum.total_tokens = std::max(total.value_or(0), parts);
  sum.completion_tokens += sum.total_tokens - parts;
  return sum;
}

}  // namespace agentcore::detail::llm
