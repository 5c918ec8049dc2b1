#include "loop/waker.hpp"

#include "support/catch.hpp"
#include "support/drive/latch.hpp"
#include "support/drive/loop_fixture.hpp"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace loop_test;
using agentcore::detail::loop::Waker;

TEST_CASE("only the first notify wakes the loop until a poll ends", "[loop][waker][Q2]") {
  const auto waker = std::make_shared<Waker>();
  int wakes = 0;
  const auto subscription = waker->on_wake([&] { ++wakes; });
  waker->notify();
  waker->notify();
  CHECK(wakes == 1);
  waker->begin_poll();
  waker->notify();
  CHECK(wakes == 1);
  waker->end_poll();
  waker->notify();
  CHECK(wakes == 2);
}

TEST_CASE("a notify during a poll does not wake the loop", "[loop][waker][Q2]") {
  const auto waker = std::make_shared<Waker>();
  int wakes = 0;
  const auto subscription = waker->on_wake([&] { ++wakes; });
  waker->begin_poll();
  waker->notify();
  waker->end_poll();
  CHECK(wakes == 0);
}

TEST_CASE("a notify before the descriptor is opened is not lost", "[loop][waker]") {
  const auto waker = std::make_shared<Waker>();
  const bool level = GENERATE(true, false);
  waker->notify();
  const int descriptor = waker->open(level);
  REQUIRE(descriptor >= 0);
  CHECK(readable(descriptor));
  CHECK(waker->open(level) == descriptor);
}

TEST_CASE("a level-triggered descriptor is readable from a notify to the next poll", "[loop][waker]") {
  const auto waker = std::make_shared<Waker>();
  const int descriptor = waker->open(true);
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(readable(descriptor));
    waker->notify();
    CHECK(readable(descriptor));
    waker->begin_poll();
    CHECK_FALSE(readable(descriptor));
    waker->notify();
    CHECK_FALSE(readable(descriptor));
    waker->end_poll();
  }
}

TEST_CASE("a later subscriber of on_wake replaces the earlier one", "[loop][waker]") {
  const auto waker = std::make_shared<Waker>();
  int first = 0;
  int second = 0;
  auto old_subscription = waker->on_wake([&] { ++first; });
  auto subscription = waker->on_wake([&] { ++second; });
  old_subscription.reset();  // must not end the one that took over
  waker->notify();
  CHECK(first == 0);
  CHECK(second == 1);
  subscription.reset();
  waker->begin_poll();
  waker->end_poll();
  waker->notify();
  CHECK(second == 1);
}

TEST_CASE("on_wake may end its own subscription and its exception is reported", "[loop][waker][G16]") {
  const auto waker = std::make_shared<Waker>();
  agentcore::Subscription subscription;
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = held;
  subscription = waker->on_wake([&subscription, kept = std::move(held)] {
    subscription.reset();
    throw std::runtime_error("wake");
  });
  waker->notify();
  CHECK(watched.expired());
  CHECK(waker->take_throw());
  CHECK_FALSE(waker->take_throw());
}

TEST_CASE("after close a notify does nothing and the descriptor is closed", "[loop][waker][G13]") {
  const auto before = open_descriptors();
  const auto waker = std::make_shared<Waker>();
  int wakes = 0;
  auto subscription = waker->on_wake([&] { ++wakes; });
  waker->open(false);
  waker->close();
  waker->notify();
  CHECK(wakes == 0);
  CHECK(open_descriptors() == before);
  CHECK(waker->open(false) == -1);
}

TEST_CASE("the reset of a subscription waits for the call that is running", "[loop][waker][threads]") {
  const auto waker = std::make_shared<Waker>();
  agentcore::test::Latch running(1);
  bool returned = false;
  auto subscription = waker->on_wake([&] {
    running.count_down();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // room for a reset that does not wait
    returned = true;
  });
  std::thread notifier([&] { waker->notify(); });
  running.wait();
  subscription.reset();
  CHECK(returned);
  notifier.join();
}

TEST_CASE("on_wake may take a lock of the host that another thread holds while it wakes the loop",
          "[loop][waker][threads][Q2]") {
  const auto waker = std::make_shared<Waker>();
  std::mutex host;
  agentcore::test::Latch entered(1);
  std::atomic<int> wakes = 0;
  const auto subscription = waker->on_wake([&] {
    if (++wakes == 1) entered.count_down();
    const std::lock_guard lock(host);
  });
  std::unique_lock lock(host);
  std::thread first([&] { waker->notify(); });
  entered.wait();
  waker->begin_poll();  // the loop is quicker than the function
  waker->end_poll();
  waker->notify();  // does not wait for the function, which waits for `host`
  lock.unlock();
  first.join();
  CHECK(wakes == 2);  // the second wake-up is not lost
}

TEST_CASE("once a subscription is reset no call of it is running", "[loop][waker][threads]") {
  const auto waker = std::make_shared<Waker>();
  std::atomic<bool> stop{false};
  std::thread notifier([&] {
    while (!stop) waker->notify();
  });
  for (int i = 0; i < 2000; ++i) {
    auto alive = std::make_unique<int>(0);  // plain: TSan and ASan see a call that is late
    auto subscription = waker->on_wake([raw = alive.get()] { ++*raw; });
    waker->begin_poll();
    waker->end_poll();
    subscription.reset();
    alive.reset();
  }
  stop = true;
  notifier.join();
}

TEST_CASE("no wake-up is lost when 100000 notifies race with polls", "[loop][waker][threads][Q4]") {
  const auto backend = EACH_BACKEND();
  const auto poller = loop_test::make_poller(backend);
  const auto waker = std::make_shared<Waker>();
  REQUIRE(poller->watch_wake(waker->open(!poller->has_descriptor())));
  constexpr int threads = 4;
  constexpr int each = 25'000;
  // Relaxed on purpose: the waker alone has to order the work before the look at it.
  std::atomic<int> published{0};
  agentcore::test::Latch start(threads);
  std::vector<std::thread> senders;
  for (int t = 0; t < threads; ++t)
    senders.emplace_back([&] {
      start.arrive_and_wait();
      for (int i = 0; i < each; ++i) {
        published.fetch_add(1, std::memory_order_relaxed);
        waker->notify();
      }
    });
  int seen = 0;
  std::vector<agentcore::detail::platform::Ready> ready;
  while (seen < threads * each) {
    poller->wait(std::nullopt, ready);  // a lost wake-up sleeps here for ever
    waker->begin_poll();
    waker->end_poll();
    seen = published.load(std::memory_order_relaxed);
  }
  for (auto& sender : senders) sender.join();
  CHECK(ready.empty());
}
