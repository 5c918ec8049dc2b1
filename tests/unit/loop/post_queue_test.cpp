// The functions on their way to the loop thread: their order, and the memory that the queue holds.
#include "loop/post_queue.hpp"

#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"
#include "support/observe/counted_heap.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <cstddef>
#include <functional>

using namespace agentcore;
using detail::loop::PostQueue;

TEST_CASE("a permanent backlog of posts uses memory in proportion to its length", "[loop][G15]") {
  constexpr std::size_t backlog = 100;
  PostQueue queue;
  std::size_t pushed = 0, taken = 0;
  const auto push = [&] { queue.push([&taken, number = pushed++] { CHECK(number == taken++); }); };
  while (pushed < backlog) push();
  for (int poll = 0; poll < 10'000; ++poll) {
    // As many as come, never all that wait.
    for (std::size_t left = queue.size() / 3; left > 0; --left) {
      const auto function = queue.take();
      REQUIRE(function);
      function();
      push();
    }
    REQUIRE(queue.size() == backlog);
    REQUIRE(queue.capacity() <= 4 * backlog);
  }
  CHECK(taken > 300'000);
}

TEST_CASE("the memory of a burst of posts is freed after the burst", "[loop][G15]") {
  PostQueue queue;
  for (int i = 0; i < 100'000; ++i) queue.push([] {});
  while (queue.take()) {
  }
  for (int i = 0; i < 4; ++i) {
    queue.push([] {});
    CHECK(queue.take());
  }
  CHECK(queue.empty());
  CHECK(queue.capacity() <= 100);
}

TEST_CASE("a loop with a steady backlog of posts does not grow", "[loop][G15]") {
  testing::ManualClock clock;
  RuntimeOptions options = loop_test::with(LoopBackend::automatic, &clock);
  options.poll_budget = Duration(0);  // one post per poll
  Runtime runtime(std::move(options));
  constexpr int backlog = 50;
  int runs = 0;
  std::function<void()> again = [&] {
    ++runs;
    runtime.post(again);
  };
  for (int i = 0; i < backlog; ++i) runtime.post(again);
  for (int poll = 0; poll < 500; ++poll) runtime.poll();
  const std::size_t before = test::live_heap();
  for (int poll = 0; poll < 5000; ++poll) runtime.poll();
  CHECK(test::live_heap() <= before + 4 * backlog * sizeof(again));
  CHECK(runs == 5500);
}
