#include "loop/timer_queue.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

using agentcore::Duration;
using agentcore::TimePoint;
using agentcore::detail::loop::TimerQueue;
using agentcore::detail::loop::TimerUse;

namespace {

TimePoint at(int nanoseconds) {
  return TimePoint(Duration(nanoseconds));
}

// Takes and runs everything due at `now`.
void run_due(TimerQueue& timers, TimePoint now) {
  while (const auto function = timers.take_due(now, timers.mark())) function();
}

}  // namespace

TEST_CASE("timers are taken in the order of their times and equal ones in the order of adding",
          "[loop][timer]") {
  TimerQueue timers;
  std::vector<int> order;
  const int times[] = {30, 10, 20, 10, 30, 10};
  for (int i = 0; i < 6; ++i) timers.add(at(times[i]), [&order, i] { order.push_back(i); });
  CHECK(timers.next() == at(10));
  run_due(timers, at(30));
  CHECK(order == std::vector<int>{1, 3, 5, 2, 0, 4});
  CHECK(timers.empty());
  CHECK_FALSE(timers.next());
}

TEST_CASE("a timer is not taken before it is due or if it was added after the mark", "[loop][timer]") {
  TimerQueue timers;
  timers.add(at(10), [] {});
  CHECK_FALSE(timers.take_due(at(9), timers.mark()));
  const auto mark = timers.mark();
  timers.add(at(10), [] {});
  CHECK(timers.take_due(at(10), mark));
  CHECK_FALSE(timers.take_due(at(10), mark));
  CHECK(timers.size() == 1);
}

TEST_CASE("a cancelled timer never runs and can be cancelled only once", "[loop][timer]") {
  TimerQueue timers;
  int runs = 0;
  const auto first = timers.add(at(1), [&] { ++runs; });
  const auto second = timers.add(at(2), [&] { runs += 10; });
  CHECK(timers.cancel(first));
  CHECK_FALSE(timers.cancel(first));
  CHECK_FALSE(timers.cancel(0));
  run_due(timers, at(5));
  CHECK(runs == 10);
  CHECK_FALSE(timers.cancel(second));
}

TEST_CASE("timer ids are never 0 and never reused", "[loop][timer][G13]") {
  TimerQueue timers;
  std::set<std::uint64_t> seen{0};
  for (int i = 0; i < 1000; ++i) {
    const auto id = timers.add(at(i), [] {});
    CHECK(seen.insert(id).second);
    if (i % 2 == 0) CHECK(timers.cancel(id));
    if (i % 2 == 1) run_due(timers, at(i));
  }
  for (const auto id : seen) CHECK_FALSE(timers.cancel(id));
}

TEST_CASE("adding and cancelling at random behaves like a sorted map", "[loop][timer]") {
  std::mt19937 random(7);
  TimerQueue timers;
  std::map<std::pair<int, int>, std::uint64_t> model;  // time and serial, to id
  std::vector<int> ran;
  for (int i = 0; i < 20000; ++i) {
    const int now = i / 10;
    if (random() % 3 != 0 || model.empty()) {
      const int when = now + static_cast<int>(random() % 200);
      model[{when, i}] = timers.add(at(when), [&ran, i] { ran.push_back(i); });
    } else {
      const auto victim = std::next(model.begin(), static_cast<int>(random() % model.size()));
      REQUIRE(timers.cancel(victim->second));
      model.erase(victim);
    }
    std::vector<int> expected;
    while (!model.empty() && model.begin()->first.first <= now) {
      expected.push_back(model.begin()->first.second);
      model.erase(model.begin());
    }
    run_due(timers, at(now));
    REQUIRE(ran == expected);
    ran.clear();
    REQUIRE(timers.size() == model.size());
  }
}

TEST_CASE("the destructor of a dropped timer's captures may use the queue", "[loop][timer]") {
  TimerQueue timers;
  const auto other = timers.add(at(5), [] {});
  auto canceller = std::shared_ptr<void>(nullptr, [&](void*) { timers.cancel(other); });
  const auto id = timers.add(at(1), [held = std::move(canceller)] {});
  CHECK(timers.cancel(id));
  CHECK(timers.empty());

  auto chain = std::shared_ptr<void>(nullptr, [&](void*) { timers.add(at(9), [] {}); });
  timers.add(at(1), [held = std::move(chain)] {});
  timers.clear();
  CHECK(timers.empty());
}

TEST_CASE("a queue of nothing but watches is idle", "[loop][timer]") {
  TimerQueue timers;
  CHECK(timers.is_idle());
  timers.add(
      at(10), [] {}, TimerUse::watch);
  const std::uint64_t cancelled = timers.add(
      at(20), [] {}, TimerUse::watch);
  CHECK(timers.is_idle());
  timers.add(at(15), [] {});
  CHECK_FALSE(timers.is_idle());
  run_due(timers, at(15));
  CHECK(timers.is_idle());
  CHECK(timers.cancel(cancelled));
  timers.add(at(30), [] {});  // in the slot of a watch
  CHECK_FALSE(timers.is_idle());
}
