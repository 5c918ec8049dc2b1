#include "llm/router/backoff.hpp"

#include <algorithm>

namespace agentcore::detail::llm {

Duration as_duration(std::chrono::milliseconds time) noexcept {
  constexpr auto longest_wait = std::chrono::duration_cast<std::chrono::milliseconds>(Duration::max());
  return std::clamp(time, std::chrono::milliseconds(0), longest_wait);
}

Duration backoff_ceiling(const RetryPolicy& policy, std::uint32_t failed) noexcept {
  const Duration most = std::max(policy.max_delay, Duration(0));
  Duration ceiling = std::clamp(policy.first_delay, Duration(0), most);
  if (ceiling == Duration(0)) return ceiling;
  for (std::uint32_t i = 1; i < failed && ceiling < most; ++i)
    ceiling = ceiling > most / 2 ? most : ceiling * 2;
  return ceiling;
}

Duration backoff_delay(const RetryPolicy& policy, std::uint32_t failed, Duration asked,
                       std::uint64_t random) noexcept {
  const auto ceiling = static_cast<std::uint64_t>(backoff_ceiling(policy, failed).count());
  const Duration jitter(static_cast<Duration::rep>(random % (ceiling + 1)));
  return std::max(jitter, asked);
}

}  // namespace agentcore::detail::llm
