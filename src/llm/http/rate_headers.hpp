// What an endpoint says about its rate limits in the head of an answer, in the spellings that providers use.
#pragma once

#include "net/transport.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace agentcore::llm {

using UtcTime = std::chrono::sys_time<std::chrono::milliseconds>;

// "Sun, 06 Nov 1994 08:49:37 GMT", the date of HTTP, and the two that are still to be understood: "Sunday,
// 06-Nov-94 08:49:37 GMT" and "Sun Nov  6 08:49:37 1994". Of the years that two digits may mean it is the
// last one that is no more than 50 years after `now`.
std::optional<UtcTime> parse_http_date(std::string_view text, UtcTime now) noexcept;

// "2026-11-22T09:15:00Z", also with a fraction or an offset, as Anthropic says when a limit is reset.
std::optional<UtcTime> parse_rfc3339(std::string_view text) noexcept;

// "6m0s", "1h2m3s", "20ms", "1.5s": how OpenAI writes a duration. A bare number is seconds.
std::optional<Duration> parse_duration(std::string_view text) noexcept;

// How long the server wants to be left alone: retry-after-ms, or Retry-After in seconds or as a date. A date
// is taken against the answer's own Date where there is one, else against `now`; one that is past gives 0.
// Empty when it does not say, or nothing that can be understood.
std::optional<std::chrono::milliseconds> retry_after(const net::HttpHead& head, UtcTime now) noexcept;

// x-ratelimit-{limit,remaining,reset}-{requests,tokens}, those of Anthropic, and the plain
// x-ratelimit-{limit,remaining,reset} and ratelimit-... of requests. Empty when there is none of them.
std::optional<RateLimit> rate_limit(const net::HttpHead& head, UtcTime now) noexcept;

}  // namespace agentcore::llm
