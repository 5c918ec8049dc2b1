// How long to wait before an attempt is made again.
#pragma once

#include <agentcore/llm_router.hpp>

#include <chrono>
#include <cstdint>

namespace agentcore::llm {

// The same time in the library's unit; what does not fit is the longest that does, a negative one is none.
Duration as_duration(std::chrono::milliseconds time) noexcept;

// The most that the wait after the `failed`-th failed attempt (1, 2, ...) may be: first_delay, doubled from
// one to the next, up to max_delay.
Duration backoff_ceiling(const RetryPolicy& policy, std::uint32_t failed) noexcept;

// Full jitter, so that those who failed together do not come back together: anything from 0 to the ceiling,
// by `random`, but no less than `asked`, which is what the server asked for.
Duration backoff_delay(const RetryPolicy& policy, std::uint32_t failed, Duration asked,
                       std::uint64_t random) noexcept;

}  // namespace agentcore::llm
