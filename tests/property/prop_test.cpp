// The checks of properties: on how many cases they insist, and what they say.
#include "support/prop.hpp"

#include "support/catch.hpp"

TEST_CASE("a property is checked on a hundred cases, or on its sample", "[property][X44]") {
  int cases = 0;
  CHECK(check_prop("holds", [&](int) { ++cases; }).passed);
  CHECK(cases >= fewest_cases());
}

TEST_CASE("a property that passes fewer cases than it must fails", "[property][X44]") {
  int cases = 0;
  const auto holds = [&](int) { ++cases; };
  CHECK(check_prop("holds", holds).passed);
  CHECK_FALSE(check_prop("holds", holds, cases + 1).passed);
  cases = 0;
  CHECK_FALSE(check_prop("discards nearly all cases", [&](int) { RC_PRE(++cases < fewest_cases()); }).passed);
}

// At the end of the program rapidcheck itself prints how to reproduce these failures, too.
TEST_CASE("a property that fails reports the smallest case and its seed", "[property][X44]") {
  const PropResult result =
      check_prop("no number is over five", [](unsigned number) { RC_ASSERT(number <= 5); });
  CHECK_FALSE(result.passed);
  CHECK(result.report.find("no number is over five") == 0);
  CHECK(result.report.find("6 <= 5") != std::string::npos);
  CHECK(result.report.find("RC_PARAMS=\"seed=") != std::string::npos);
}
