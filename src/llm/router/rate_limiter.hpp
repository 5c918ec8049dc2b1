// RateLimiter: when the next call may go to an endpoint.
#pragma once

#include "llm/router/token_bucket.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>

#include <cstdint>

namespace agentcore::detail::llm {

// An estimate of the tokens that a call will use: those of its request, and of the answer if max_tokens
// limits it.
std::uint64_t estimated_tokens(const ChatRequest& request);

// Keeps the limits of one endpoint: the configured ones, in requests and tokens per minute, and those that
// the endpoint reports. @loop_thread
class RateLimiter {
 public:
  // The totals that had been taken when a call was admitted, and the numbers of its takings from the buckets.
  struct Mark {
    std::uint64_t requests = 0;
    std::uint64_t tokens = 0;
    std::uint64_t request_taking = 0;
    std::uint64_t token_taking = 0;
  };

  void set_limits(std::uint64_t requests_per_minute, std::uint64_t tokens_per_minute) noexcept;

  // When a call of so many tokens may be sent: `now`, or later.
  TimePoint ready_at(std::uint64_t tokens, TimePoint now) const noexcept;
  // The call is sent.
  Mark take(std::uint64_t tokens, TimePoint now) noexcept;
  // The call was not sent after all.
  void undo(std::uint64_t tokens, const Mark& mark, TimePoint now) noexcept;
  // The call used another number than estimated. The remaining limit that the endpoint has reported since it
  // received that call is not changed: it already includes the call.
  void correct(std::uint64_t estimated, std::uint64_t used, const Mark& mark, TimePoint now) noexcept;

  // Takes over the limits in the endpoint's answer to the call of `mark`. Calls sent after that one are
  // subtracted from the remaining limit. The allowance refills evenly until the reset; where the limit is
  // unknown, or the endpoint counts in fixed windows, it refills at once at the reset. A limit without a
  // reset time is ignored.
  void learn(const RateLimit& limit, const Mark& mark, TimePoint now) noexcept;
  // No call is sent until `time` is over, or an hour if that is shorter. The endpoint asked for that pause
  // (Retry-After), so it replaces the limits that learn() took.
  void pause(Duration time, TimePoint now) noexcept;
  // The pause that the endpoint asks of a call of so many tokens, from `now` on. By default: of any call.
  // Waits for the configured limits do not count: they are short.
  Duration pause_left(TimePoint now, std::uint64_t tokens = 1) const noexcept;

 private:
  TokenBucket requests_, tokens_;
  Allowance requests_left_, tokens_left_;
  Mark spent_;
  std::uint64_t learned_from_ = 0;  // number of the youngest call whose answer was used
  std::uint64_t tokens_from_ = 0;   // the same, for the token limit
  TimePoint paused_until_{};
};

}  // namespace agentcore::detail::llm
