// What providers say about their limits.
#include "llm/http/rate_headers.hpp"

#include "support/catch.hpp"
#include "support/prop.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::llm;
using namespace std::chrono_literals;

namespace {

// 2026-11-22 09:15:00 UTC.
constexpr UtcTime now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 22) + 9h + 15min;

detail::net::HttpHead head(std::vector<std::pair<std::string, std::string>> fields) {
  return {.status = 429, .fields = std::move(fields)};
}

std::optional<std::chrono::milliseconds> wait_for(std::string text) {
  return retry_after(head({{"retry-after", std::move(text)}}), now);
}

}  // namespace

TEST_CASE("Retry-After is read as seconds or a date or milliseconds", "[llm][X19]") {
  CHECK(wait_for("120") == 120s);
  CHECK(wait_for("0") == 0s);
  CHECK(wait_for("1.5") == 1500ms);
  CHECK(wait_for("Sun, 22 Nov 2026 09:15:30 GMT") == 30s);
  CHECK(wait_for("Sun, 22 Nov 2026 09:00:00 GMT") == 0s);  // past
  CHECK(retry_after(head({{"retry-after", "2"}, {"retry-after-ms", "350"}}), now) == 350ms);
  CHECK_FALSE(retry_after(head({}), now));
}

TEST_CASE("milliseconds may have a fraction, and other texts count as none", "[llm][X19]") {
  const auto in_ms = [](std::string text) {
    return retry_after(head({{"retry-after", "2"}, {"retry-after-ms", std::move(text)}}), now);
  };
  CHECK(in_ms("1499.2") == 1500ms);
  CHECK(in_ms("0.5") == 1ms);
  CHECK(in_ms("0") == 0ms);
  for (const char* odd : {"", "-5", "20ms", "nan", "inf", "1,5"}) CHECK(in_ms(odd) == 2s);
  CHECK(retry_after(head({{"x-ms-retry-after-ms", "350"}}), now) == 350ms);
}

TEST_CASE("x-should-retry is read in any case of its letters", "[llm][X19]") {
  const auto said = [](std::string text) {
    return should_retry(head({{"x-should-retry", std::move(text)}}));
  };
  CHECK(said("true") == true);
  CHECK(said("TRUE") == true);
  CHECK(said("False") == false);
  for (const char* odd : {"", "1", "truee", "yes"}) CHECK_FALSE(said(odd).has_value());
  CHECK_FALSE(should_retry(head({})).has_value());
}

TEST_CASE("a date is compared with the server's clock", "[llm][X19]") {
  CHECK(retry_after(head({{"retry-after", "Thu, 01 Jan 2026 00:01:00 GMT"},
                          {"date", "Thu, 01 Jan 2026 00:00:00 GMT"}}),
                    now) == 60s);
}

TEST_CASE("a date may be in any of the three forms of HTTP", "[llm][X19]") {
  constexpr UtcTime then =
      std::chrono::sys_days(std::chrono::year(1994) / 11 / 6) + 8h + 49min + 37s;  // RFC 9110's own example
  CHECK(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT", now) == then);
  CHECK(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT", now) == then);
  CHECK(parse_http_date("Sun Nov  6 08:49:37 1994", now) == then);
  CHECK(parse_http_date("Wed Nov 16 08:49:37 1994", now) == then + 24h * 10);
  CHECK(wait_for("Sunday, 22-Nov-26 09:15:30 GMT") == 30s);
  CHECK(wait_for("Sun Nov 22 09:16:00 2026") == 60s);
  const auto server_time =
      head({{"retry-after", "Monday, 05-Jul-77 00:01:00 GMT"}, {"date", "Mon Jul  5 00:00:00 2077"}});
  CHECK(retry_after(server_time, now) == 60s);  // a year of two digits is the server's, too
}

TEST_CASE("a year of two digits is at most fifty years ahead", "[llm][X19]") {
  const auto year_of = [](const char* text, UtcTime at) {
    const auto date = parse_http_date(text, at);
    REQUIRE(date);
    return static_cast<int>(std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(*date)).year());
  };
  CHECK(year_of("Sunday, 22-Nov-26 09:15:00 GMT", now) == 2026);
  CHECK(year_of("Friday, 01-Jan-27 00:00:00 GMT", now) == 2027);
  CHECK(year_of("Saturday, 01-Jan-00 00:00:00 GMT", now) == 2000);
  CHECK(year_of("Wednesday, 01-Jan-76 00:00:00 GMT", now) == 2076);  // less than 50 years
  CHECK(year_of("Thursday, 23-Dec-76 00:00:00 GMT", now) == 1976);   // a month more
  CHECK(year_of("Saturday, 01-Jan-77 00:00:00 GMT", now) == 1977);
  constexpr UtcTime late = std::chrono::sys_days(std::chrono::year(2080) / 3 / 1);
  CHECK(year_of("Thursday, 01-Feb-30 00:00:00 GMT", late) == 2130);
  CHECK(year_of("Friday, 01-Feb-80 00:00:00 GMT", late) == 2080);
  CHECK(year_of("Tuesday, 01-Feb-31 00:00:00 GMT", late) == 2031);
}

TEST_CASE("an invalid Retry-After is ignored", "[llm][X19]") {
  for (const char* text : {"",
                           "soon",
                           "-5",
                           "nan",
                           "inf",
                           "1 s x",
                           "Sun, 31 Feb 2026 09:15:30 GMT",
                           "Sun, 22 Nov 2026 25:15:30 GMT",
                           "Sun, 22 Nov 2026 09:15:30 PST",
                           "22 Nov 2026",
                           "Sunday, 22-Nov-2026 09:15:30 GMT",
                           "Sunday, 31-Feb-27 09:15:30 GMT",
                           "Sunday, 22 Nov 26 09:15:30 GMT",
                           "Sunday, 22-Nov-26 09:15:30",
                           "Someone, 22-Nov-26",
                           "Sunday, 22-Nov-26 09:15:61 GMT",
                           "Sun Nov 22 09:15:30 26",
                           ", 22-Nov-26 09:15:30 GMT",
                           "Sun Nov 22 09:15:30 2026 GMT",
                           "Sun Nov 6 09:15:30 2026",
                           "Sun Nov  6 9:15:30 2026",
                           "Sun Nov  0 09:15:30 2026",
                           "Sun Nev 22 09:15:30 2026",
                           "Sun Nov 22 24:15:30 2026"}) {
    INFO(text);
    CHECK_FALSE(wait_for(text));
  }
}

TEST_CASE("Retry-After is limited to a year", "[llm][X19]") {
  CHECK(wait_for("259200") == 72h);
  CHECK(wait_for("1e300") == 24h * 365);
  CHECK(wait_for("Fri, 01 Jan 9999 00:00:00 GMT") == 24h * 365);
}

TEST_CASE("durations are read in OpenAI's form", "[llm]") {
  CHECK(parse_duration("6m0s") == 6min);
  CHECK(parse_duration("1h2m3s") == 1h + 2min + 3s);
  CHECK(parse_duration("20ms") == 20ms);
  CHECK(parse_duration("7.5s") == 7500ms);
  CHECK(parse_duration("17") == 17s);
  for (const char* text : {"", "s", "1x", "1s2", "m1", "--"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("times are read in Anthropic's form", "[llm]") {
  CHECK(parse_rfc3339("2026-11-22T09:15:00Z") == now);
  CHECK(parse_rfc3339("2026-11-22T09:15:00.250Z") == now);
  CHECK(parse_rfc3339("2026-11-22T11:15:00+02:00") == now);
  CHECK(parse_rfc3339("2026-11-22T05:45:00-03:30") == now);
  for (const char* text : {"", "2026-11-22", "2026-11-22T09:15:00", "2026-13-22T09:15:00Z",
                           "x026-11-22T09:15:00Z", "2026-11-22T09:15:00+0200", "2026-11-22T09:15:00Zx"}) {
    INFO(text);
    CHECK_FALSE(parse_rfc3339(text));
  }
}

TEST_CASE("rate limits are read in OpenAI's form", "[llm]") {
  const auto limit = rate_limit(head({{"x-ratelimit-limit-requests", "60"},
                                      {"x-ratelimit-remaining-requests", "59"},
                                      {"x-ratelimit-reset-requests", "1s"},
                                      {"x-ratelimit-limit-tokens", "150000"},
                                      {"x-ratelimit-remaining-tokens", "0"},
                                      {"x-ratelimit-reset-tokens", "6m0s"}}),
                                now);
  CHECK(limit == RateLimit{60, 59, 1s, 150000, 0, 6min});
}

TEST_CASE("rate limits are read in Anthropic's form", "[llm]") {
  const auto limit = rate_limit(head({{"anthropic-ratelimit-requests-limit", "50"},
                                      {"anthropic-ratelimit-requests-remaining", "49"},
                                      {"anthropic-ratelimit-requests-reset", "2026-11-22T09:15:02Z"},
                                      {"anthropic-ratelimit-tokens-remaining", "1000"}}),
                                now);
  CHECK(limit == RateLimit{50, 49, 2s, {}, 1000, 0s});
}

TEST_CASE("rate limits are read in OpenRouter's and the standard form", "[llm]") {
  const auto at = std::to_string((now + 3s).time_since_epoch() / 1ms);
  CHECK(rate_limit(
            head({{"x-ratelimit-limit", "20"}, {"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", at}}),
            now) == RateLimit{20, 0, 3s, {}, {}, 0s, true});
  CHECK(rate_limit(head({{"ratelimit-remaining", "1"}, {"ratelimit-reset", "30"}}), now) ==
        RateLimit{{}, 1, 30s, {}, {}, 0s, true});
  CHECK_FALSE(rate_limit(head({{"x-request-id", "7"}}), now));
  const auto in_seconds = std::to_string((now + 3s).time_since_epoch() / 1s);
  CHECK(rate_limit(head({{"x-ratelimit-reset", in_seconds}}), now)->requests_reset == 3s);
}

TEST_CASE("any rate limit headers give waits between zero and a year", "[llm][O5]") {
  prop("any text in any field", [](const std::string& text, std::uint64_t number) {
    for (const std::string& value : {text, std::to_string(number), std::to_string(number) + text}) {
      const auto wait = wait_for(value);
      RC_ASSERT(!wait || (*wait >= 0ms && *wait <= 24h * 365));
      const auto limit = rate_limit(
          head({{"x-ratelimit-reset-requests", value}, {"anthropic-ratelimit-tokens-reset", value}}), now);
      if (!limit) continue;
      RC_ASSERT((limit->requests_reset >= 0s && limit->requests_reset <= 24h * 365));
      RC_ASSERT((limit->tokens_reset >= 0s && limit->tokens_reset <= 24h * 365));
    }
  });
}
