// RateLimiter: when the next call may go to an endpoint.
#pragma once

#include "llm/router/token_bucket.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>

#include <cstdint>

namespace agentcore::llm {

// A guess of what a call will use: the tokens of what is said, and of the answer if max_tokens limits it.
std::uint64_t estimated_tokens(const ChatRequest& request) noexcept;

// Keeps the limits of one endpoint: those that were set, in requests and tokens per minute, and those that
// the endpoint speaks of. @loop_thread
class RateLimiter {
 public:
  // What had been spent, in all, when a call went; and the numbers of its takings from the buckets.
  struct Mark {
    std::uint64_t requests = 0;
    std::uint64_t tokens = 0;
    std::uint64_t request_taking = 0;
    std::uint64_t token_taking = 0;
  };

  void set_limits(std::uint64_t requests_per_minute, std::uint64_t tokens_per_minute) noexcept;

  // When a call of so many tokens may go: `now`, or later.
  TimePoint ready_at(std::uint64_t tokens, TimePoint now) const noexcept;
  // It goes.
  Mark take(std::uint64_t tokens, TimePoint now);
  // It did not go after all.
  void undo(std::uint64_t tokens, const Mark& mark, TimePoint now) noexcept;
  // It used something else than was estimated. What the endpoint has said is left since it got that call
  // stands: the call is counted in it.
  void correct(std::uint64_t estimated, std::uint64_t used, const Mark& mark, TimePoint now);

  // Takes the limits in the endpoint's answer to the call that got `mark`. What was sent after that call is
  // subtracted from what was left. The allowance refills evenly until the reset; where the limit is unknown,
  // or the endpoint counts in fixed windows, it refills at once at the reset. A limit without a time of its
  // reset is ignored.
  void learn(const RateLimit& limit, const Mark& mark, TimePoint now) noexcept;
  // No call goes until `time` is over, or an hour if that is shorter. The endpoint asked for that pause
  // (Retry-After), so it replaces the limits that learn() took.
  void pause(Duration time, TimePoint now) noexcept;
  // How long the endpoint wants to be left alone by a call of so many tokens, from `now` on. By default: by
  // any call. Waits for the limits that were set do not count: they are short.
  Duration pause_left(TimePoint now, std::uint64_t tokens = 1) const noexcept;

 private:
  TokenBucket requests_, tokens_;
  Allowance requests_left_, tokens_left_;
  Mark spent_;
  std::uint64_t learned_from_ = 0;  // number of the youngest call whose answer was learned from
  std::uint64_t tokens_from_ = 0;   // the same, of what it says of tokens
  TimePoint paused_until_{};
};

}  // namespace agentcore::llm
