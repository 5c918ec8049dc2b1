// The scheduler itself: it replays, finds textbook races, and reports a deadlock.
#include "interleaved/scheduler.hpp"

#include "core/atomic.hpp"
#include "core/mutex.hpp"
#include "interleaved/seeds.hpp"
#include "sim/random.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

using namespace agentcore::interleaved;
using agentcore::detail::core::Atomic;
using agentcore::detail::core::Condition;
using agentcore::detail::core::InnerLock;
using agentcore::detail::core::Lock;
using agentcore::detail::core::Mutex;
using agentcore::sim::Random;

namespace {

using Body = std::function<void(Scheduler&)>;

// Each body is one command.
Outcome run_once(std::uint64_t seed, std::size_t falls, std::vector<Body> bodies) {
  Random random(seed);
  Schedule schedule;
  const auto threads = static_cast<std::uint32_t>(bodies.size());
  schedule.order.resize(threads);
  std::iota(schedule.order.begin(), schedule.order.end(), 0U);
  for (std::uint32_t i = threads; i > 1; --i)
    std::swap(schedule.order[i - 1], schedule.order[random.below(i)]);
  schedule.falls.assign(threads, std::vector<std::vector<Fall>>(1));
  for (std::size_t i = 0; i < falls; ++i) {
    auto& of_thread = schedule.falls[random.below(threads)][0];
    of_thread.push_back({1 + random.below(8), random.below(3)});
    std::ranges::sort(of_thread, {}, &Fall::step);
  }
  for (Body& body : bodies)
    body = [body = std::move(body)](Scheduler& scheduler) {
      scheduler.begin_command("body");
      body(scheduler);
    };
  return Scheduler::run(std::move(schedule), std::move(bodies));
}

// How many of the seeds show the fault.
template <typename Try>
int count_found(int seeds, const Try& shows_fault) {
  int found = 0;
  for (int seed = 1; seed <= seeds; ++seed) found += shows_fault(static_cast<std::uint64_t>(seed)) ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("the same schedule gives the same steps", "[interleaved]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto once = [seed] {
      const auto value = std::make_shared<Atomic<int>>(0);
      const Body count = [value](Scheduler&) {
        for (int i = 0; i < 5; ++i) value->fetch_add(1);
      };
      return run_once(seed, 3, {count, count, count});
    };
    const Outcome first = once(), second = once();
    CHECK(first.hash == second.hash);
    CHECK(first.switches == second.switches);
    CHECK(first.steps == 15);
  }
}

TEST_CASE("an update that is lost between a load and a store is found with one fall", "[interleaved]") {
  const auto loses = [](std::uint64_t seed, std::size_t falls) {
    const auto value = std::make_shared<Atomic<int>>(0);
    const Body add = [value](Scheduler&) { value->store(value->load() + 1); };
    run_once(seed, falls, {add, add});
    return value->load() != 2;
  };
  CHECK(count_found(200, [&](std::uint64_t seed) { return loses(seed, 1); }) >= 5);
  CHECK(count_found(200, [&](std::uint64_t seed) { return loses(seed, 0); }) == 0);
}

TEST_CASE("the steps of a run show where a fall changes the order of two threads", "[interleaved]") {
  struct Shared {
    Atomic<int> value{0}, own{0}, read{0};
  };
  const auto add = [](const std::shared_ptr<Shared>& shared, Schedule schedule) {
    const Body body = [shared](Scheduler& scheduler) {
      scheduler.begin_command("add");
      static_cast<void>(shared->read.load());  // by both, and changed by none
      if (scheduler.thread() == 0) shared->own.store(1);
      shared->value.store(shared->value.load() + 1);
    };
    return Scheduler::run(std::move(schedule), {body, body}, {.steps = true});
  };
  const auto shared = std::make_shared<Shared>();
  const std::vector<Race> found = races(add(shared, {{0, 1}, {}}).taken);
  CHECK(shared->value.load() == 2);
  REQUIRE(found.size() ==
          2);  // of the first thread the load, which the other's store may precede, and the store
  CHECK(found[0].step.step == 3);
  CHECK(found[1].step.step == 4);
  CHECK(found[1].step.thread == 0);
  const auto again = std::make_shared<Shared>();
  add(again, {{0, 1}, {{{Fall{found[1].step.step, 0}}}, {{}}}});
  CHECK(again->value.load() == 1);
}

TEST_CASE("a race that needs two interruptions is found with two falls", "[interleaved]") {
  const auto shows = [](std::uint64_t seed, std::size_t falls) {
    struct Shared {
      Atomic<int> first{0}, second{0};
      bool seen = false;
    };
    const auto shared = std::make_shared<Shared>();
    // The reader sees the first change without the second, and later the second without the first.
    const Body writer = [shared](Scheduler&) {
      shared->first.store(1);
      shared->second.store(1);
      shared->first.store(0);
      shared->second.store(0);
    };
    const Body reader = [shared](Scheduler&) {
      const bool only_first = shared->first.load() == 1 && shared->second.load() == 0;
      const bool only_second = shared->first.load() == 0 && shared->second.load() == 1;
      shared->seen = only_first && only_second;
    };
    run_once(seed, falls, {writer, reader});
    return shared->seen;
  };
  CHECK(count_found(2'000, [&](std::uint64_t seed) { return shows(seed, 3); }) > 0);
  CHECK(count_found(2'000, [&](std::uint64_t seed) { return shows(seed, 1); }) == 0);
}

TEST_CASE("two mutexes that are locked in two orders are reported as a deadlock", "[interleaved]") {
  struct Shared {
    Mutex first{agentcore::detail::core::LockRank::verbs}, second{agentcore::detail::core::LockRank::verbs};
  };
  const auto deadlocks = [](std::uint64_t seed, std::size_t falls) {
    const auto shared = std::make_shared<Shared>();
    const auto take = [](Mutex& mutex, Scheduler& scheduler) { scheduler.lock(&mutex, false); };
    const auto give = [](Mutex& mutex, Scheduler& scheduler) { scheduler.unlock(&mutex, false); };
    const Outcome outcome = run_once(seed, falls,
                                     {[=](Scheduler& scheduler) {
                                        take(shared->first, scheduler);
                                        take(shared->second, scheduler);
                                        give(shared->second, scheduler);
                                        give(shared->first, scheduler);
                                      },
                                      [=](Scheduler& scheduler) {
                                        take(shared->second, scheduler);
                                        take(shared->first, scheduler);
                                        give(shared->first, scheduler);
                                        give(shared->second, scheduler);
                                      }});
    if (outcome.end == Ending::deadlock)
      CHECK(outcome.who ==
            "thread 0 in `body` waits for a mutex that thread 1 holds; "
            "thread 1 in `body` waits for a mutex that thread 0 holds");
    return outcome.end == Ending::deadlock;
  };
  CHECK(count_found(100, [&](std::uint64_t seed) { return deadlocks(seed, 1); }) > 0);
  CHECK(count_found(100, [&](std::uint64_t seed) { return deadlocks(seed, 0); }) == 0);
}

TEST_CASE("a mutex is held by one thread, and a condition wakes the one that waits", "[interleaved]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    struct Shared {
      Mutex mutex;
      Condition filled;
      int inside = 0, items = 0, taken = 0;
      bool alone = true;
    };
    const auto shared = std::make_shared<Shared>();
    const Body put = [shared](Scheduler& scheduler) {
      for (int i = 0; i < 2; ++i) {
        const Lock lock(shared->mutex);
        shared->alone = shared->alone && ++shared->inside == 1;
        scheduler.step();
        ++shared->items;
        --shared->inside;
        shared->filled.notify_one();
      }
    };
    const Body take = [shared](Scheduler& scheduler) {
      for (int i = 0; i < 2; ++i) {
        const Lock lock(shared->mutex);
        while (shared->items == 0) shared->filled.wait(shared->mutex);
        shared->alone = shared->alone && ++shared->inside == 1;
        scheduler.step();
        --shared->items;
        ++shared->taken;
        --shared->inside;
      }
    };
    const Outcome outcome = run_once(seed, 4, {take, put, take, put});
    CHECK(outcome.end == Ending::ended);
    CHECK(shared->alone);
    CHECK(shared->taken == 4);
  }
}

TEST_CASE("a wait that nobody ends is reported", "[interleaved]") {
  struct Shared {
    Mutex mutex;
    Condition never;
  };
  const auto shared = std::make_shared<Shared>();
  const Outcome outcome = run_once(1, 0, {[shared](Scheduler&) {
                                     const Lock lock(shared->mutex);
                                     shared->never.wait(shared->mutex);
                                   }});
  CHECK(outcome.end == Ending::deadlock);
  CHECK(outcome.who == "thread 0 in `body` waits for a condition");
}

TEST_CASE("a thread that turns until another one has acted falls behind it", "[interleaved]") {
  const auto ready = std::make_shared<Atomic<bool>>(false);
  Schedule schedule{{0, 1}, {}};
  const Outcome outcome = Scheduler::run(schedule, {[ready](Scheduler&) {
                                                      while (!ready->load()) {
                                                      }
                                                    },
                                                    [ready](Scheduler&) { ready->store(true); }});
  CHECK(outcome.end == Ending::ended);
}

TEST_CASE("a sleep is ended by a wake-up, also by an earlier one, or when nobody else can go on",
          "[interleaved]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto woken = std::make_shared<std::vector<bool>>();
    run_once(seed, 2,
             {[woken](Scheduler& scheduler) {
                scheduler.step();
                woken->push_back(scheduler.sleep());
                woken->push_back(scheduler.sleep());
              },
              [](Scheduler& scheduler) {
                scheduler.step();
                scheduler.wake(0);
              }});
    CHECK(*woken == std::vector<bool>{true, false});
  }
}

TEST_CASE("nothing is interleaved with a quiet section but the holder of a mutex that it needs",
          "[interleaved]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    struct Shared {
      Mutex mutex;
      Atomic<int> value{0};
      bool quiet = false, disturbed = false;
    };
    const auto shared = std::make_shared<Shared>();
    const Body section = [shared](Scheduler& scheduler) {
      scheduler.quietly([&] {
        shared->quiet = true;
        shared->value.fetch_add(1);
        const Lock lock(shared->mutex);
        shared->value.fetch_add(1);
        shared->quiet = false;
      });
    };
    const Body holder = [shared](Scheduler&) {
      const Lock lock(shared->mutex);
      shared->value.fetch_add(1);
    };
    const Body other = [shared](Scheduler&) {
      for (int i = 0; i < 4; ++i) {
        shared->disturbed = shared->disturbed || shared->quiet;
        shared->value.fetch_add(1);
      }
    };
    CHECK(run_once(seed, 3, {section, holder, other}).end == Ending::ended);
    CHECK_FALSE(shared->disturbed);
  }
}
