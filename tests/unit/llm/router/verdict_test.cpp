// What is to be done about an attempt that failed.
#include "llm/router/verdict.hpp"

#include "support/catch.hpp"

using namespace agentcore;
using namespace agentcore::detail::llm;
using namespace std::chrono_literals;

TEST_CASE("errors are retried or use the next route or are final", "[llm][router][X19]") {
  CHECK(verdict_on({.code = Errc::network_error, .retryable = true}) == Verdict::retry);
  CHECK(verdict_on({.code = Errc::api_error, .http_status = 429, .retryable = true}) == Verdict::retry);
  CHECK(verdict_on({.code = Errc::api_error, .http_status = 404, .model_specific = true}) ==
        Verdict::next_route);
  CHECK(
      verdict_on({.code = Errc::api_error, .http_status = 503, .retryable = true, .model_specific = true}) ==
      Verdict::next_route);
  CHECK(verdict_on({.code = Errc::api_error, .http_status = 401}) == Verdict::final);
  CHECK(verdict_on({.code = Errc::invalid_response}) == Verdict::final);
}

TEST_CASE("errors caused by the host are final", "[llm][router][X19][X21][A9]") {
  for (const Errc code : {Errc::cancelled, Errc::deadline_exceeded, Errc::callback_failed,
                          Errc::request_in_progress, Errc::invalid_config})
    CHECK(verdict_on({.code = code, .retryable = true, .model_specific = true}) == Verdict::final);
}

TEST_CASE("an error has the number of attempts and the routes", "[llm][router]") {
  const ChatError error{.code = Errc::network_error, .message = "cut"};
  CHECK(with_progress(error, {.attempts = 1}).message == "cut");
  CHECK(with_progress(error, {.attempts = 0, .routes = 2}).message == "cut");
  CHECK(with_progress(error, {.attempts = 3}).message == "cut (3 attempts)");
  CHECK(with_progress(error, {.attempts = 1, .route = 0, .routes = 2}).message ==
        "cut (1 attempt; the last on route 1 of 2)");
  CHECK(with_progress(error, {.attempts = 4, .route = 1, .routes = 2}).message ==
        "cut (4 attempts; the last on route 2 of 2)");
}

TEST_CASE("a deadline names the error before it", "[llm][router][X21]") {
  CHECK(deadline_error({}).message == "The call's deadline passed");
  const ChatError error = deadline_error({.code = Errc::api_error, .message = "busy", .http_status = 503});
  CHECK(error.code == Errc::deadline_exceeded);
  CHECK(error.message == "The call's deadline passed; its last attempt had failed: busy");
  CHECK(error.http_status == 503);
  CHECK_FALSE(error.retryable);
}

TEST_CASE("errors of the router name their wait", "[llm][router]") {
  CHECK(circuit_open_error("e", 0, 1500ms).retry_after == 1500ms);
  CHECK(circuit_open_error("e", 0, 1ns).retry_after == 1ms);
  CHECK(circuit_open_error("api.test", 0, 1500ms).message ==
        "The endpoint \"api.test\" failed too often: no call is sent to it for another 1.5 s "
        "(BreakerPolicy::open_for)");
  CHECK(circuit_open_error("", 2, 1s).message.starts_with(
      "The endpoint of RouterOptions::routes[2] failed too often"));
  CHECK(pause_too_long_error(90s).message.find("90.0 s") != std::string::npos);
  CHECK(queue_full_error(7).message.starts_with("7 model calls wait"));
  for (const ChatError& error :
       {circuit_open_error("e", 0, 0s), pause_too_long_error(1s), queue_full_error(1)})
    CHECK(error.retryable);
}
