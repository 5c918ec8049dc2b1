#include "llm/router/verdict.hpp"

#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace agentcore::llm {
namespace {

std::chrono::milliseconds rounded_up(Duration time) noexcept {
  return std::chrono::ceil<std::chrono::milliseconds>(time);
}

std::string seconds(Duration time) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

}  // namespace

Verdict verdict_on(const Error& error) noexcept {
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

Error with_progress(Error error, const Progress& progress) {
  if (progress.attempts == 0 || (progress.attempts == 1 && progress.routes == 1)) return error;
  error.message += fmt::format(" ({} attempt{}", progress.attempts, progress.attempts == 1 ? "" : "s");
  if (progress.routes > 1)
    error.message += fmt::format("; the last on route {} of {}", progress.route + 1, progress.routes);
  error.message += ')';
  return error;
}

Error with_pause(Error error, Duration pause, Duration limit) {
  error.message += fmt::format(
      "; the endpoint asks for a pause of {}, longer than RetryPolicy::max_retry_after ({}) allows",
      seconds(pause), seconds(limit));
  return error;
}

Error circuit_open_error(Duration left) {
  return {
      .code = Errc::circuit_open,
      .message = left > Duration(0)
                     ? "The endpoint failed too often just now; it is left alone for another " + seconds(left)
                     : "The endpoint failed too often just now; another call tries already whether it is "
                       "well again",
      .retryable = true,
      .retry_after = rounded_up(left)};
}

Error left_alone_error(Duration left) {
  return {.code = Errc::http_error,
          .message = fmt::format("The endpoint asked to be left alone for another {}, which is longer than "
                                 "RetryPolicy::max_retry_after",
                                 seconds(left)),
          .http_status = 429,
          .retryable = true,
          .retry_after = rounded_up(left)};
}

Error left_too_late_error(Duration left) {
  return {.code = Errc::deadline_exceeded,
          .message = fmt::format("The endpoint asked to be left alone for another {}, which the call's "
                                 "deadline does not allow",
                                 seconds(left)),
          .http_status = 429};
}

Error queue_full_error(std::size_t waiting) {
  return {.code = Errc::queue_full,
          .message = fmt::format("{} model calls wait for a slot already; send less at a time, or raise "
                                 "CallLimits::max_waiting",
                                 waiting),
          .retryable = true};
}

Error deadline_error(const Error& last) {
  std::string message = "The call's deadline passed";
  if (last.code != Errc::none) message += "; its last attempt had failed: " + last.message;
  return {.code = Errc::deadline_exceeded, .message = std::move(message), .http_status = last.http_status};
}

}  // namespace agentcore::llm
