#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <limits>
#include <optional>
#include <type_traits>

using namespace agentcore;

static_assert(std::uint16_t{no_limit} == 65'535);
static_assert(std::uint64_t{no_limit} == std::numeric_limits<std::uint64_t>::max());
static_assert(Duration{no_limit} == Duration::max());
static_assert(TimePoint{no_limit} == TimePoint::max());
static_assert(no_limit == std::numeric_limits<double>::infinity() && 1e300 != no_limit);
static_assert(0U != no_limit && Duration::zero() != no_limit);
static_assert(!std::is_convertible_v<NoLimit, bool> && !std::is_convertible_v<NoLimit, int>);

TEST_CASE("limits are unlimited by default where no number is documented", "[core]") {
  CHECK_FALSE(Budget().limits());
  CHECK(TreeOptions().question_timeout == no_limit);
  CHECK(RetryPolicy().timeout == no_limit);
  const CallLimits limits;
  CHECK((limits.total == no_limit && limits.per_endpoint == no_limit && limits.per_agent == no_limit));
  CHECK((limits.requests_per_minute == no_limit && limits.tokens_per_minute == no_limit));
  CHECK(std::optional<Duration>(no_limit) == Duration::max());
}

TEST_CASE("each limit of a budget is a limit, also the limit zero", "[core][budget]") {
  CHECK(Budget{.turns = 0}.limits());
  CHECK(Budget{.tokens = 0}.limits());
  CHECK(Budget{.cost = 0}.limits());
  CHECK(Budget{.wall_clock = Duration(0)}.limits());
}
