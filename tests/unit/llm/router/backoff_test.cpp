// The wait before an attempt is made again.
#include "llm/router/backoff.hpp"

#include "support/catch.hpp"

#include <limits>
#include <random>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::llm;
using namespace std::chrono_literals;

TEST_CASE("the ceiling of the back-off doubles up to max_delay", "[llm][router][X20]") {
  const RetryPolicy policy{.first_delay = 1s, .max_delay = 30s};
  std::vector<Duration> ceilings;
  for (std::uint32_t failed = 1; failed <= 7; ++failed) ceilings.push_back(backoff_ceiling(policy, failed));
  CHECK(ceilings == std::vector<Duration>{1s, 2s, 4s, 8s, 16s, 30s, 30s});
  CHECK(backoff_ceiling({.first_delay = 0s}, 1'000'000'000) == 0s);
  CHECK(backoff_ceiling({.first_delay = 5s, .max_delay = 2s}, 1) == 2s);
}

TEST_CASE("no number of attempts and no delay makes the back-off overflow", "[llm][router][X20]") {
  const auto most = std::numeric_limits<std::uint32_t>::max();
  CHECK(backoff_ceiling({.first_delay = 1ns, .max_delay = Duration::max()}, most) == Duration::max());
  CHECK(backoff_delay({.first_delay = Duration::max(), .max_delay = Duration::max()}, most, 0s, ~0ULL) >= 0s);
  CHECK(as_duration(std::chrono::milliseconds::max()) > std::chrono::hours(24 * 365));
  CHECK(as_duration(-5ms) == 0s);
  CHECK(as_duration(1500ms) == 1500ms);
}

TEST_CASE("the jitter is uniform between zero and the ceiling", "[llm][router][X20]") {
  const RetryPolicy policy{.first_delay = 1s, .max_delay = 30s};
  std::mt19937_64 random(1);
  int below_half = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Duration delay = backoff_delay(policy, 2, 0s, random());
    REQUIRE(delay >= 0s);
    REQUIRE(delay <= 2s);
    below_half += delay < 1s;
  }
  CHECK(below_half > 4700);
  CHECK(below_half < 5300);
}

TEST_CASE("the wait is never shorter than the server asked for", "[llm][router][X19]") {
  const RetryPolicy policy{.first_delay = 1s, .max_delay = 30s};
  CHECK(backoff_delay(policy, 1, 7s, 0) == 7s);
  CHECK(backoff_delay(policy, 1, 45s, 0) == 45s);
  CHECK(backoff_delay(policy, 1, 10ms, 500'000'000) == 500ms);
  CHECK(backoff_delay(policy, 1, 0s, 0) == 0s);
}
