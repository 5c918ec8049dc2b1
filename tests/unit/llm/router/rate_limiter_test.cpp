// Requests and tokens per minute, and what endpoints say about their limits.
#include "llm/router/rate_limiter.hpp"

#include "support/catch.hpp"

#include <limits>

using namespace agentcore;
using namespace agentcore::detail::llm;
using namespace std::chrono_literals;

namespace {

const TimePoint start{100s};

RateLimit requests_left(std::uint64_t left, Duration reset) {
  return {.requests_left = left, .requests_reset = reset};
}
RateLimit tokens_left(std::uint64_t left, Duration reset) {
  return {.tokens_left = left, .tokens_reset = reset};
}

}  // namespace

TEST_CASE("a bucket admits the amount of a minute at once and then refills evenly", "[llm][router][limits]") {
  for (const std::uint64_t limit : {1U, 3U, 7U, 60U, 1000U}) {
    TokenBucket bucket;
    bucket.set_limit(limit);
    for (std::uint64_t i = 0; i < limit; ++i) {
      REQUIRE(bucket.ready_at(1, start) == start);
      bucket.take(1, start);
    }
    const Duration each = Duration(60s) / static_cast<int>(limit);
    const Duration wait = bucket.ready_at(1, start) - start;
    CHECK(wait > each - 1us);
    CHECK(wait <= each);
    CHECK(bucket.ready_at(1, start + each) == start + each);
  }
}

TEST_CASE("a bucket never holds more than the amount of a minute", "[llm][router][limits]") {
  TokenBucket bucket;
  bucket.set_limit(2);
  const TimePoint later = start + 1h;
  bucket.take(1, later);
  bucket.take(1, later);
  CHECK(bucket.ready_at(1, later) == later + 30s);
}

TEST_CASE("a request larger than the bucket is admitted when it is full and then repaid",
          "[llm][router][limits]") {
  TokenBucket bucket;
  bucket.set_limit(100);
  CHECK(bucket.ready_at(250, start) == start);
  bucket.take(250, start);
  CHECK(bucket.ready_at(1, start) - start > 90s);
  CHECK(bucket.ready_at(100, start) == start + 150s);
  bucket.take(std::numeric_limits<std::uint64_t>::max(), start);  // no overflow
  CHECK(bucket.ready_at(1, start) > start + 1h);
}

TEST_CASE("a late refund does not exceed the capacity", "[llm][router][limits]") {
  TokenBucket bucket;
  bucket.set_limit(60);
  SECTION("all of it is paid off") {
    const auto number = bucket.take(60, start);
    bucket.take(60, start + 60s);
    bucket.give_back(60, number, start + 60s);
    CHECK(bucket.ready_at(60, start + 60s) == start + 120s);
  }
  SECTION("nobody has taken anything since") {
    const auto number = bucket.take(60, start);
    bucket.give_back(60, number, start + 1h);
    CHECK(bucket.ready_at(60, start + 1h) == start + 1h);
    bucket.take(60, start + 1h);
    CHECK(bucket.ready_at(1, start + 1h) == start + 1h + 1s);
  }
  SECTION("a second of it is still owed, and two have a share in it") {
    const auto one = bucket.take(30, start), two = bucket.take(30, start);
    bucket.take(59, start + 59s);
    bucket.give_back(30, one, start + 59s);
    bucket.give_back(30, two, start + 59s);
    CHECK(bucket.ready_at(1, start + 59s) == start + 59s);
    CHECK(bucket.ready_at(2, start + 59s) == start + 60s);
  }
  SECTION("as long as the bucket was never full it all comes back, however late") {
    const auto number = bucket.take(50, start);
    for (int i = 1; i <= 50; ++i) bucket.take(1, start + Duration(1s) * i);
    CHECK(bucket.ready_at(20, start + 50s) == start + 60s);
    bucket.give_back(40, number, start + 50s);
    CHECK(bucket.ready_at(50, start + 50s) == start + 50s);
  }
}

TEST_CASE("without a limit everything is admitted", "[llm][router][limits]") {
  RateLimiter limiter;
  for (int i = 0; i < 1000; ++i) limiter.take(1'000'000, start);
  CHECK(limiter.ready_at(1'000'000, start) == start);
}

TEST_CASE("both limits apply and a call that was not sent is refunded", "[llm][router][limits]") {
  RateLimiter limiter;
  limiter.set_limits(2, 100);
  const auto mark = limiter.take(60, start);
  CHECK(limiter.ready_at(40, start) == start);
  CHECK(limiter.ready_at(41, start) > start);
  limiter.undo(60, mark, start);
  CHECK(limiter.ready_at(100, start) == start);
  limiter.take(0, start);
  limiter.take(0, start);
  CHECK(limiter.ready_at(0, start) == start + 30s);
}

TEST_CASE("the usage of a call replaces its estimate", "[llm][router][limits]") {
  RateLimiter limiter;
  limiter.set_limits(no_limit, 100);
  const auto mark = limiter.take(80, start);
  CHECK(limiter.ready_at(50, start) == start + 18s);
  limiter.correct(80, 30, mark, start);
  CHECK(limiter.ready_at(70, start) == start);
  limiter.correct(30, 90, mark, start);
  CHECK(limiter.ready_at(10, start) == start);
  CHECK(limiter.ready_at(11, start) > start);
}

TEST_CASE("an endpoint with nothing left gets no call until its reset", "[llm][router][limits]") {
  RateLimiter limiter;
  const auto mark = limiter.take(1, start);
  limiter.learn(requests_left(0, 5s), mark, start);
  CHECK(limiter.ready_at(1, start) == start + 5s);
  CHECK(limiter.pause_left(start) == 5s);
  CHECK(limiter.ready_at(1, start + 5s) == start + 5s);
  CHECK(limiter.pause_left(start + 5s) == 0s);
}

TEST_CASE("calls use only what an endpoint has left", "[llm][router][limits]") {
  RateLimiter limiter;
  limiter.set_limits(1000, no_limit);
  const auto mark = limiter.take(1, start);
  limiter.learn(requests_left(2, 10s), mark, start);
  limiter.take(1, start);
  CHECK(limiter.ready_at(1, start) == start);
  limiter.take(1, start);
  CHECK(limiter.ready_at(1, start) == start + 10s);
  CHECK(limiter.ready_at(1, start + 10s) == start + 10s);
}

TEST_CASE("a call waits if too few tokens are left while a smaller one does not", "[llm][router][limits]") {
  RateLimiter limiter;
  const auto mark = limiter.take(10, start);
  limiter.learn(tokens_left(100, 20s), mark, start);
  CHECK(limiter.ready_at(100, start) == start);
  CHECK(limiter.ready_at(101, start) == start + 20s);
  CHECK(limiter.pause_left(start) == 0s);
  CHECK(limiter.pause_left(start, 100) == 0s);
  CHECK(limiter.pause_left(start, 101) == 20s);
}

TEST_CASE("the reported remainder already includes the answered call", "[llm][router][limits]") {
  RateLimiter limiter;
  const auto first = limiter.take(10, start), second = limiter.take(80, start),
             third = limiter.take(15, start);
  limiter.learn(tokens_left(35, 20s), second, start);  // less the third's: 20
  limiter.correct(80, 10, second, start);
  limiter.correct(10, 1, first, start);
  CHECK(limiter.ready_at(20, start) == start);
  CHECK(limiter.ready_at(21, start) == start + 20s);
  limiter.correct(15, 5, third, start);  // that one is not
  CHECK(limiter.ready_at(30, start) == start);
  CHECK(limiter.ready_at(31, start) == start + 20s);
}

TEST_CASE("a call that was not sent is not subtracted from the remainder", "[llm][router][limits]") {
  RateLimiter limiter;
  const auto first = limiter.take(10, start), second = limiter.take(10, start);
  limiter.undo(10, second, start);
  limiter.learn({.requests_left = 1, .requests_reset = 10s, .tokens_left = 5, .tokens_reset = 10s}, first,
                start);
  CHECK(limiter.ready_at(5, start) == start);
}

TEST_CASE("calls sent after the answered one are subtracted from the remainder", "[llm][router][limits]") {
  RateLimiter limiter;
  const auto first = limiter.take(10, start);
  const auto second = limiter.take(10, start);
  limiter.take(10, start);
  limiter.learn(requests_left(3, 10s), first, start);  // two of the three are on their way
  limiter.take(10, start);
  CHECK(limiter.ready_at(10, start) == start + 10s);
  limiter.learn(requests_left(9, 10s), second, start);
  CHECK(limiter.ready_at(10, start) == start);
  limiter.learn(requests_left(0, 10s), first, start);  // comes late, and is older
  CHECK(limiter.ready_at(10, start) == start);
}

TEST_CASE("the remainder of an endpoint refills evenly up to its limit", "[llm][router][limits]") {
  RateLimiter limiter;
  const auto mark = limiter.take(10, start);
  limiter.learn({.requests = 60, .requests_left = 0, .requests_reset = 60s}, mark, start);
  CHECK(limiter.ready_at(1, start) == start + 1s);
  CHECK(limiter.pause_left(start) == 1s);
  CHECK(limiter.ready_at(1, start + 1s) == start + 1s);
  limiter.take(1, start + 1s);
  CHECK(limiter.ready_at(1, start + 1s) == start + 2s);
  limiter.take(1, start + 10s);
  CHECK(limiter.ready_at(1, start + 10s) == start + 10s);
}

TEST_CASE("tokens refill from the remainder and no call waits for more than the limit",
          "[llm][router][limits]") {
  RateLimiter limiter;
  const auto mark = limiter.take(0, start);
  limiter.learn({.tokens = 1000, .tokens_left = 400, .tokens_reset = 60s}, mark, start);
  CHECK(limiter.ready_at(400, start) == start);
  CHECK(limiter.ready_at(500, start) == start + 10s);
  CHECK(limiter.ready_at(1000, start) == start + 60s);
  CHECK(limiter.ready_at(5000, start) == start + 60s);
  limiter.take(400, start);
  CHECK(limiter.ready_at(100, start) == start + 10s);
  limiter.correct(400, 350, limiter.take(0, start), start);
  CHECK(limiter.ready_at(100, start) == start + 5s);
}

TEST_CASE("a daily limit refills over a day", "[llm][router][limits]") {
  RateLimiter limiter;
  limiter.learn({.requests = 1440, .requests_left = 0, .requests_reset = 24h}, limiter.take(1, start), start);
  CHECK(limiter.ready_at(1, start) == start + 1min);
  limiter.take(100, start);
  limiter.learn({.tokens = 24, .tokens_left = 0, .tokens_reset = 24h}, limiter.take(1, start), start);
  CHECK(limiter.ready_at(2, start) == start + 1h);  // nothing is known after it
}

TEST_CASE("a fixed window refills at once", "[llm][router][limits]") {
  RateLimiter limiter;
  limiter.learn({.requests = 20, .requests_left = 0, .requests_reset = 40s, .fixed_window = true},
                limiter.take(1, start), start);
  CHECK(limiter.ready_at(1, start) == start + 40s);
  CHECK(limiter.ready_at(1, start + 39s) == start + 40s);
}

TEST_CASE("Retry-After has priority over the reset time", "[llm][router][limits][X19]") {
  RateLimiter limiter;
  const auto mark = limiter.take(10, start);
  limiter.learn(
      {.requests = 1, .requests_left = 0, .requests_reset = 60s, .tokens_left = 0, .tokens_reset = 60s}, mark,
      start);
  limiter.pause(5s, start);
  CHECK(limiter.pause_left(start, 1000) == 5s);
  CHECK(limiter.ready_at(1000, start + 5s) == start + 5s);
}

TEST_CASE("a limit without a reset time is ignored", "[llm][router][limits]") {
  RateLimiter limiter;
  limiter.learn(requests_left(0, 0s), limiter.take(1, start), start);
  CHECK(limiter.ready_at(1, start) == start);
}

TEST_CASE("a pause holds all calls and the longest counts and it is bounded", "[llm][router][limits]") {
  RateLimiter limiter;
  limiter.pause(20s, start);
  limiter.pause(10s, start);
  CHECK(limiter.ready_at(0, start) == start + 20s);
  limiter.pause(Duration::max(), start);
  CHECK(limiter.pause_left(start) == 1h);
}

TEST_CASE("the estimate of a request counts its texts and the answer's limit", "[llm][router][limits]") {
  ChatRequest request;
  CHECK(estimated_tokens(request) == 0);
  request.messages.push_back(ChatMessage::user("12345"));
  CHECK(estimated_tokens(request) == 6);
  request.max_tokens = 100;
  CHECK(estimated_tokens(request) == 106);
  request.tools.push_back({.name = "t", .description = "12345", .parameters = "12345"});
  CHECK(estimated_tokens(request) == 111);
}

TEST_CASE("the later of two reports about a call counts", "[llm][router][limits]") {
  RateLimiter limiter;
  const auto mark = limiter.take(10, start);
  limiter.learn(requests_left(0, 10s), mark, start);
  limiter.learn(requests_left(5, 10s), mark, start);
  CHECK(limiter.ready_at(10, start) == start);
}

TEST_CASE("a report of requests alone says nothing about tokens", "[llm][router][limits]") {
  RateLimiter limiter;
  const auto first = limiter.take(10, start), second = limiter.take(80, start);
  limiter.learn(tokens_left(100, 20s), first, start);  // less the second's: 20
  limiter.learn(requests_left(5, 20s), second, start);
  limiter.correct(80, 30, second, start);
  CHECK(limiter.ready_at(70, start) == start);
  CHECK(limiter.ready_at(71, start) == start + 20s);
}

TEST_CASE("a call that was not sent gives back what it took of the remainder", "[llm][router][limits]") {
  RateLimiter limiter;
  limiter.learn({.requests_left = 1, .requests_reset = 10s, .tokens_left = 50, .tokens_reset = 10s},
                limiter.take(10, start), start);
  const auto unsent = limiter.take(50, start);
  CHECK(limiter.ready_at(1, start) == start + 10s);
  limiter.undo(50, unsent, start);
  CHECK(limiter.ready_at(50, start) == start);
  CHECK(limiter.ready_at(51, start) == start + 10s);
}
