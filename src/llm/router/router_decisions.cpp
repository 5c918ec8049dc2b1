// Where and when a call goes on.
#include "llm/router/backoff.hpp"
#include "llm/router/router_call.hpp"
#include "loop/time.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace agentcore::llm {

// The first route from `from` on that may be tried now; else the number of routes. `why` says why not the
// first of those that may not.
std::size_t RouterCall::usable(std::size_t from, Error& why) const {
  const TimePoint now = engine_->now();
  for (std::size_t i = from; i < shared_->ways.size(); ++i) {
    const RouterShared::Way& way = shared_->ways[i];
    const Duration pause = pause_of(i);
    const bool admits = way.breaker->admits(now);
    if (admits && pause <= patience()) return i;
    if (why.code == Errc::none)
      why = admits ? pause_error(pause) : circuit_open_error(way.breaker->open_for(now));
  }
  return shared_->ways.size();
}

// For how long it lets an endpoint ask to be left alone: what would begin at its deadline would be too late.
Duration RouterCall::patience() const noexcept {
  const Duration most = shared_->retry.max_retry_after;
  const TimePoint now = engine_->now();
  if (!deadline_) return most;
  return is_late_at(now) ? Duration(0) : std::min(most, *deadline_ - now - Duration(1));
}

// How long that route's endpoint asks this call to leave it alone.
Duration RouterCall::pause_of(std::size_t route) const noexcept {
  return shared_->slots->pause_left(*shared_->ways[route].endpoint, tokens_);
}

// Why such a pause is not waited for.
Error RouterCall::pause_error(Duration pause) const {
  return pause > shared_->retry.max_retry_after ? left_alone_error(pause) : left_too_late_error(pause);
}

void RouterCall::enter(std::size_t route) {
  route_ = route;
  attempt_ = 0;
  wait_for_slot();
}

// The route that it was to take is closed to it.
void RouterCall::pass_over(const Error& why) {
  Error ignored;
  const std::size_t next = usable(route_ + 1, ignored);
  if (next < shared_->ways.size()) return try_elsewhere(next, why);
  if (last_error_.code == Errc::none) return fail(why);
  fail(why.code == Errc::deadline_exceeded ? deadline_error(last_error_) : Error(last_error_));
}

void RouterCall::try_elsewhere(std::size_t next, const Error& error) {
  if (tell(next, pause_of(next), error)) enter(next);
}

void RouterCall::try_later(Duration delay, const Error& error) {
  if (!tell(route_, std::max(delay, pause_of(route_)), error)) return;
  phase_ = Phase::backing_off;
  timer_ = engine_->start_timer(loop::later(engine_->now(), delay), [call = weak_from_this()] {
    if (const auto alive = call.lock()) alive->on_backed_off();
  });
}

// What becomes of the call after an attempt that failed.
void RouterCall::decide(const Error& error) {
  last_error_ = error;
  const Verdict verdict = verdict_on(error);
  if (delivered_ || verdict == Verdict::final) return fail(error);
  Error ignored;
  const std::size_t next = usable(route_ + 1, ignored);
  const bool has_next = next < shared_->ways.size();
  bool too_late = false;
  if (may_try_again(error) && !(has_next && verdict == Verdict::next_route)) {
    const Duration delay = next_delay(error);
    if (!goes_on()) return;
    const TimePoint then = loop::later(engine_->now(), std::max(delay, pause_of(route_)));
    too_late = is_late_at(then);
    if (!too_late && shared_->ways[route_].breaker->admits(then)) return try_later(delay, error);
  }
  if (has_next) return try_elsewhere(next, error);
  const Duration asked = std::max(as_duration(error.retry_after), pause_of(route_));
  const bool too_long = error.retryable && asked > shared_->retry.max_retry_after;
  fail(too_late   ? deadline_error(error)
       : too_long ? with_pause(error, asked, shared_->retry.max_retry_after)
                  : error);
}

bool RouterCall::may_try_again(const Error& error) const noexcept {
  const RetryPolicy& retry = shared_->retry;
  return error.retryable && attempt_ < retry.max_attempts &&
         std::max(as_duration(error.retry_after), pause_of(route_)) <= retry.max_retry_after;
}

Duration RouterCall::next_delay(const Error& error) {
  const auto shared = shared_;  // the host's function may end the call
  std::optional<Duration> wanted;
  if (shared->retry.backoff)
    engine_->guarded("RetryPolicy::backoff", [&] { wanted = shared->retry.backoff(attempt_, error); });
  if (wanted) return std::max(*wanted, Duration(0));
  return backoff_delay(shared->retry, attempt_, as_duration(error.retry_after), engine_->random());
}

// Says where and when the call goes on. False when it does not, after all.
bool RouterCall::tell(std::size_t next, Duration delay, const Error& error) {
  const auto shared = shared_;
  const bool again = next == route_;
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(delay).count();
  engine_->log(again ? LogLevel::info : LogLevel::warning,
               again ? "a model call is tried again" : "a model call goes on with another route",
               {{"agent", agent_id()},
                {"route", std::to_string(route_)},
                {"next_route", std::to_string(next)},
                {"attempt", std::to_string(attempt_)},
                {"delay_ms", std::to_string(milliseconds)},
                {"error", to_string(error.code)},
                {"http_status", std::to_string(error.http_status)}});
  if (!goes_on()) return false;
  if (!shared->on_retry) return true;
  const RetryNotice notice{.agent_id = agent_id(),
                           .attempt = attempt_,
                           .route = route_,
                           .next_route = next,
                           .delay = delay,
                           .error = error};
  engine_->guarded("RouterOptions::on_retry", [&] { shared->on_retry(notice); });
  return goes_on();
}

}  // namespace agentcore::llm
