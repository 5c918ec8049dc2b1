#include "llm/router/route_plan.hpp"

#include "llm/router/backoff.hpp"
#include "loop/time.hpp"

#include <algorithm>

namespace agentcore::detail::llm {
namespace {

std::optional<TimePoint> earlier_deadline(const ChatRequest& request, const RetryPolicy& retry,
                                          TimePoint now) noexcept {
  if (retry.timeout == no_limit) return request.deadline;
  const TimePoint ours = loop::later(now, retry.timeout);
  return request.deadline ? std::min(*request.deadline, ours) : ours;
}

}  // namespace

RoutePlan::RoutePlan(const RouterShared& shared, const ChatRequest& request)
    : shared_(shared),
      tokens_(estimated_tokens(request)),
      deadline_(earlier_deadline(request, shared.retry, shared.engine->now())) {
}

void RoutePlan::enter(std::size_t route) noexcept {
  route_ = route;
  attempt_ = 0;
}

bool RoutePlan::is_last_attempt() const noexcept {
  return attempt_ == shared_.retry.max_attempts && route_ + 1 == routes();
}

Progress RoutePlan::progress() const noexcept {
  return {.attempts = attempts_, .route = route_, .routes = routes()};
}

Duration RoutePlan::max_wait() const noexcept {
  const Duration most = shared_.retry.max_retry_after;
  const TimePoint now = shared_.engine->now();
  if (!deadline_) return most;
  return is_late_at(now) ? Duration(0) : std::min(most, *deadline_ - now - Duration(1));
}

std::size_t RoutePlan::usable(std::size_t from, ChatError& why) const {
  const TimePoint now = shared_.engine->now();
  for (std::size_t i = from; i < routes(); ++i) {
    const RouterShared::RouteEntry& entry = shared_.routes[i];
    const Duration pause = pause_of(i);
    const bool admits = entry.breaker->admits(now);
    if (admits && pause <= max_wait()) return i;
    if (why.code == Errc::none)
      why = admits ? pause_error(pause)
                   : circuit_open_error(entry.route.endpoint, i, entry.breaker->open_for(now));
  }
  return routes();
}

Duration RoutePlan::pause_of(std::size_t route) const noexcept {
  return shared_.slots->pause_left(*shared_.routes[route].endpoint, tokens_);
}

ChatError RoutePlan::pause_error(Duration pause) const {
  return pause > shared_.retry.max_retry_after ? pause_too_long_error(pause)
                                               : pause_past_deadline_error(pause);
}

bool RoutePlan::may_try_again(const ChatError& error) const noexcept {
  const RetryPolicy& retry = shared_.retry;
  return error.retryable && attempt_ < retry.max_attempts &&
         std::max(as_duration(error.retry_after), pause_of(route_)) <= retry.max_retry_after;
}

ChatError RoutePlan::last_error(const ChatError& error) const {
  const Duration most = shared_.retry.max_retry_after;
  const Duration asked = std::max(as_duration(error.retry_after), pause_of(route_));
  return error.retryable && asked > most ? with_pause(error, asked, most) : error;
}

}  // namespace agentcore::detail::llm
