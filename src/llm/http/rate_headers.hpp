// Reads the rate limits of an endpoint from the head of an answer, in the spellings of the providers.
#pragma once

#include "net/transport.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace agentcore::detail::llm {

using UtcTime = std::chrono::sys_time<std::chrono::milliseconds>;

// "Sun, 06 Nov 1994 08:49:37 GMT", the date of HTTP, and its two obsolete forms: "Sunday, 06-Nov-94 08:49:37
// GMT" and "Sun Nov  6 08:49:37 1994". A year of two digits is the latest one that is at most 50 years after
// `now`.
std::optional<UtcTime> parse_http_date(std::string_view text, UtcTime now) noexcept;

// "2026-11-22T09:15:00Z", also with a fraction or an offset: how Anthropic writes the reset of a limit.
std::optional<UtcTime> parse_rfc3339(std::string_view text) noexcept;

// "6m0s", "1h2m3s", "20ms", "1.5s": how OpenAI writes a duration. A bare number is seconds.
std::optional<Duration> parse_duration(std::string_view text) noexcept;

// The pause that the server asks for: retry-after-ms or x-ms-retry-after-ms, a number that may have a
// fraction, or Retry-After in seconds or as a date. A date is compared with the answer's own Date if there is
// one, else with `now`; a date in the past gives 0. Empty when the headers are missing or cannot be parsed.
std::optional<std::chrono::milliseconds> retry_after(const net::HttpHead& head, UtcTime now) noexcept;

// x-should-retry: "true" or "false", in any case. Empty when the header is missing or says something else.
std::optional<bool> should_retry(const net::HttpHead& head) noexcept;

// x-ratelimit-{limit,remaining,reset}-{requests,tokens}, those of Anthropic, and the plain
// x-should-retry: "true" or "false", in any case. Empty when the header is missing or says something else.
std::optional<bool> should_retry(const net::HttpHead& head) noexcept;

// x-ratelimit-{limit,remaining,reset} and ratelimit-... of requests. Empty when there is none of them.
std::optional<RateLimit> rate_limit(const net::HttpHead& head, UtcTime now) noexcept;

}  // namespace agentcore::detail::llm
