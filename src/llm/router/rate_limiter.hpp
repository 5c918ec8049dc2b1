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

  // What the endpoint said when it answered the call that got `mark`. Of what was left then, that is gone
  // which was sent after that call. It fills up evenly until the reset, when all is there again; where the
  // limit is unknown, or counts in fixed windows, all comes back then. A limit without a time when it is
  // reset teaches nothing.
  void learn(const RateLimit& limit, const Mark& mark, TimePoint now) noexcept;
  // Nothing goes until `time` is over, or an hour if that is shorter: then the endpoint may be asked again.
  // It said that itself (Retry-After), so what it said about its limits does not count any more.
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
