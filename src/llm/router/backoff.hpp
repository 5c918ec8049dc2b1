// How long to wait before an attempt is made again.
#pragma once

#include <agentcore/llm_router.hpp>

#include <chrono>
#include <cstdint>

namespace agentcore::detail::llm {

// Converts to the library's unit, clamped: to the longest duration, and a negative one to 0.
Duration as_duration(std::chrono::milliseconds time) noexcept;

// The upper limit of the wait after the `failed`-th failed attempt (1, 2, ...): first_delay, doubled each
// time, up to max_delay.
Duration backoff_ceiling(const RetryPolicy& policy, std::uint32_t failed) noexcept;

// Full jitter, so that calls that failed together are not repeated together: a time from 0 to the ceiling, by
// `random`, but at least `asked`, the pause that the server asked for.
Duration backoff_delay(const RetryPolicy& policy, std::uint32_t failed, Duration asked,
                       std::uint64_t random) noexcept;

}  // namespace agentcore::detail::llm
