#include "llm/router/rate_limiter.hpp"

#include "context/token_count.hpp"
#include "loop/time.hpp"

#include <algorithm>
#include <optional>

namespace agentcore::detail::llm {
namespace {

constexpr Duration longest_pause = std::chrono::hours(1);

TimePoint after(Duration time, TimePoint now) noexcept {
  return loop::later(now, std::min(time, longest_pause));
}

std::uint64_t what_is_left(std::uint64_t said, std::uint64_t gone) noexcept {
  return said - std::min(said, gone);
}

std::optional<std::uint64_t> refilled_to(const std::optional<std::uint64_t>& all,
                                         const RateLimit& limit) noexcept {
  return limit.fixed_window ? std::nullopt : all;
}

}  // namespace

std::uint64_t estimated_tokens(const ChatRequest& request) {
  return request.max_tokens.value_or(0) + context::request_tokens(request);
}

void RateLimiter::set_limits(std::uint64_t requests_per_minute, std::uint64_t tokens_per_minute) noexcept {
  const auto bucket_limit = [](std::uint64_t limit) {  // of a TokenBucket, where 0 is no limit
    return limit == no_limit ? 0 : std::max<std::uint64_t>(limit, 1);
  };
  requests_.set_limit(bucket_limit(requests_per_minute));
  tokens_.set_limit(bucket_limit(tokens_per_minute));
}

TimePoint RateLimiter::ready_at(std::uint64_t tokens, TimePoint now) const noexcept {
  return std::max({now, paused_until_, requests_.ready_at(1, now), tokens_.ready_at(tokens, now),
                   requests_left_.ready_at(1, now), tokens_left_.ready_at(tokens, now)});
}

RateLimiter::Mark RateLimiter::take(std::uint64_t tokens, TimePoint now) noexcept {
  spent_.request_taking = requests_.take(1, now);
  spent_.token_taking = tokens_.take(tokens, now);
  requests_left_.take(1);
  tokens_left_.take(tokens);
  spent_.requests += 1;
  spent_.tokens += tokens;
  return spent_;
}

void RateLimiter::undo(std::uint64_t tokens, const Mark& mark, TimePoint now) noexcept {
  requests_.give_back(1, mark.request_taking, now);
  tokens_.give_back(tokens, mark.token_taking, now);
  requests_left_.give_back(1);
  tokens_left_.give_back(tokens);
  if (mark.requests != spent_.requests) return;  // in the marks of younger calls, it cancels out there
  spent_.requests -= 1;
  spent_.tokens -= tokens;
}

void RateLimiter::correct(std::uint64_t estimated, std::uint64_t used, const Mark& mark,
                          TimePoint now) noexcept {
  const bool is_counted = mark.requests <= tokens_from_;
  if (used > estimated) {
    tokens_.take(used - estimated, now);
    if (!is_counted) tokens_left_.take(used - estimated);
  } else {
    tokens_.give_back(estimated - used, mark.token_taking, now);
    if (!is_counted) tokens_left_.give_back(estimated - used);
  }
}

void RateLimiter::learn(const RateLimit& limit, const Mark& mark, TimePoint now) noexcept {
  if (mark.requests < learned_from_) return;  // a younger call's answer came first and is newer
  learned_from_ = mark.requests;
  if (limit.requests_left && limit.requests_reset > Duration(0))
    requests_left_.learn(what_is_left(*limit.requests_left, spent_.requests - mark.requests),
                         refilled_to(limit.requests, limit), now, loop::later(now, limit.requests_reset),
                         after(limit.requests_reset, now));
  if (!limit.tokens_left || limit.tokens_reset <= Duration(0)) return;
  tokens_from_ = mark.requests;
  tokens_left_.learn(what_is_left(*limit.tokens_left, spent_.tokens - mark.tokens),
                     refilled_to(limit.tokens, limit), now, loop::later(now, limit.tokens_reset),
                     after(limit.tokens_reset, now));
}

void RateLimiter::pause(Duration time, TimePoint now) noexcept {
  paused_until_ = std::max(paused_until_, after(time, now));
  requests_left_ = tokens_left_ = {};
}

Duration RateLimiter::pause_left(TimePoint now, std::uint64_t tokens) const noexcept {
  return std::max({now, paused_until_, requests_left_.ready_at(1, now), tokens_left_.ready_at(tokens, now)}) -
         now;
}

}  // namespace agentcore::detail::llm
