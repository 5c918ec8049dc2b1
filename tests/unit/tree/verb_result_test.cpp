// The result of a verb says whether the call took effect.
#include "support/drive/tree_fixture.hpp"

#include <type_traits>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("the result of a verb is no condition", "[tree][C20]") {
  STATIC_REQUIRE_FALSE(std::is_constructible_v<bool, VerbResult>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<bool, UnpauseResult>);
}

TEST_CASE("a verb that finds nothing to do is accepted and takes no effect", "[tree][C20]") {
  TreeFixture t;
  const VerbResult cancelled = t.root("a").cancel_call("unknown");
  CHECK(cancelled.accepted());
  CHECK_FALSE(cancelled.took_effect());
  CHECK(cancelled.reason == Errc::call_not_found);
}
