#include "llm/router/verdict.hpp"

#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace agentcore::detail::llm {
namespace {

std::chrono::milliseconds rounded_up(Duration time) noexcept {
  return std::chrono::ceil<std::chrono::milliseconds>(time);
}

std::string seconds(Duration time) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

}  // namespace

Verdict verdict_on(const ChatError& error) noexcept {
  switch (error.code) {
    case Errc::cancelled:
    case Errc::deadline_exceeded:
    case Errc::callback_failed:
    case Errc::request_in_progress:
    case Errc::invalid_config:
      return Verdict::final;
    default:
      break;
  }
  if (error.model_specific) return Verdict::next_route;
  return error.retryable ? Verdict::retry : Verdict::final;
}

ChatError with_progress(ChatError error, const Progress& progress) {
  if (progress.attempts == 0 || (progress.attempts == 1 && progress.routes == 1)) return error;
  error.message += fmt::format(" ({} attempt{}", progress.attempts, progress.attempts == 1 ? "" : "s");
  if (progress.routes > 1)
    error.message += fmt::format("; the last on route {} of {}", progress.route + 1, progress.routes);
  error.message += ')';
  return error;
}

ChatError with_pause(ChatError error, Duration pause, Duration limit) {
  error.message += fmt::format(
      "; the endpoint asks for a pause of {}, longer than RetryPolicy::max_retry_after ({}) allows",
      seconds(pause), seconds(limit));
  return error;
}

ChatError circuit_open_error(std::string_view endpoint, std::size_t route, Duration left) {
  const std::string name =
      endpoint.empty() ? fmt::format("of RouterOptions::routes[{}]", route) : fmt::format("\"{}\"", endpoint);
  return {.code = Errc::circuit_open,
          .message = left > Duration(0)
                         ? fmt::format("The endpoint {} failed too often: no call is sent to it for another "
                                       "{} (BreakerPolicy::open_for)",
                                       name, seconds(left))
                         : fmt::format("The endpoint {} failed too often: one call at a time tests whether "
                                       "it works again, and that test is still running",
                                       name),
          .retryable = true,
          .retry_after = rounded_up(left)};
}

ChatError pause_too_long_error(Duration left) {
  return {.code = Errc::http_error,
          .message = fmt::format("The endpoint asked for a pause that lasts another {}, which is longer than "
                                 "RetryPolicy::max_retry_after",
                                 seconds(left)),
          .http_status = 429,
          .retryable = true,
          .retry_after = rounded_up(left)};
}

ChatError pause_past_deadline_error(Duration left) {
  return {.code = Errc::deadline_exceeded,
          .message = fmt::format("The endpoint asked for a pause that lasts another {}, which the call's "
                                 "deadline does not allow",
                                 seconds(left)),
          .http_status = 429};
}

ChatError queue_full_error(std::size_t waiting) {
  return {
      .code = Errc::queue_full,
      .message = fmt::format("{} model calls wait for a slot already; make fewer calls at a time, or raise "
                             "CallLimits::max_waiting",
                             waiting),
      .retryable = true};
}

ChatError deadline_error(const ChatError& last) {
  std::string message = "The call's deadline passed";
  if (last.code != Errc::none) message += "; its last attempt had failed: " + last.message;
  return {.code = Errc::deadline_exceeded, .message = std::move(message), .http_status = last.http_status};
}

}  // namespace agentcore::detail::llm
