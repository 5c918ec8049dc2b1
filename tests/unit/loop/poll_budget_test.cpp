// How much work a poll does, and how often it looks at the clock.
#include "loop/source.hpp"
#include "support/catch.hpp"

#include <chrono>

using namespace agentcore;
using namespace std::chrono_literals;
using detail::loop::PollBudget;

namespace {

// Counts how often it is read.
struct LookedAtClock final : Clock {
  TimePoint now() const noexcept override {
    ++looks;
    return at;
  }

  mutable int looks = 0;
  TimePoint at{};
};

}  // namespace

TEST_CASE("quick steps look at the clock early, and then seldom", "[loop]") {
  LookedAtClock clock;
  PollBudget budget(clock, clock.at + 1ms, 1'000'000);
  for (int i = 0; i < 3; ++i) CHECK(budget.spend());
  CHECK(clock.looks == 2);
  for (int i = 3; i < 64 * 100; ++i) CHECK(budget.spend());
  CHECK(clock.looks < 120);
  clock.at += 1ms;
  int more = 0;
  while (budget.spend()) ++more;
  CHECK(more < 64);
  CHECK(budget.exhausted());
}

TEST_CASE("slow steps look at the clock each time", "[loop]") {
  LookedAtClock clock;
  PollBudget budget(clock, clock.at + 1ms, 1'000'000);
  for (int i = 0; i < 1000; ++i) CHECK(budget.spend_slow());
  CHECK(clock.looks == 999);
  clock.at += 1ms;
  CHECK_FALSE(budget.spend_slow());
  CHECK(budget.exhausted());
  CHECK(budget.used() == 1000);
}

TEST_CASE("the first step is granted, and the number of steps is limited", "[loop]") {
  LookedAtClock clock;
  PollBudget late(clock, clock.at, 10);
  CHECK(late.spend_slow());
  CHECK_FALSE(late.spend_slow());
  PollBudget few(clock, clock.at + 1ms, 2);
  CHECK(few.spend());
  CHECK(few.spend_slow());
  CHECK_FALSE(few.spend());
}
