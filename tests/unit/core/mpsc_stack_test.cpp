// The stack behind the control queue, the ready list and the cut queue.
#include "core/mpsc_stack.hpp"

#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

using namespace agentcore::detail::core;

namespace {

struct Plain {
  int value = 0;
  Plain* next = nullptr;
};
using PlainStack = MpscStack<Plain, &Plain::next>;

struct Shared {
  std::size_t producer = 0;
  std::size_t number = 0;
  std::atomic<Shared*> next{nullptr};
};
using SharedStack = MpscStack<Shared, &Shared::next>;

std::vector<int> values(const Plain* list) {
  std::vector<int> found;
  for (; list; list = PlainStack::next(*list)) found.push_back(list->value);
  return found;
}

}  // namespace

TEST_CASE("a stack is taken whole, oldest first", "[core][mpsc_stack]") {
  std::array<Plain, 3> items{{{1}, {2}, {3}}};
  PlainStack stack;
  CHECK(stack.empty());
  CHECK(stack.take() == nullptr);
  CHECK(stack.push(items[0]) == Pushed::first);
  CHECK(stack.push(items[1]) == Pushed::added);
  CHECK(stack.push(items[2]) == Pushed::added);
  CHECK_FALSE(stack.empty());
  CHECK(values(stack.take()) == std::vector{1, 2, 3});
  CHECK(stack.empty());
  CHECK(stack.push(items[1]) == Pushed::first);  // a taken item can be pushed again
  CHECK(values(stack.take()) == std::vector{2});
}

TEST_CASE("a closed stack refuses items and returns what was in it once", "[core][mpsc_stack]") {
  std::array<Plain, 3> items{{{1}, {2}, {3}}};
  PlainStack stack;
  stack.push(items[0]);
  stack.push(items[1]);
  CHECK(values(stack.close()) == std::vector{1, 2});
  CHECK(stack.push(items[2]) == Pushed::refused);
  CHECK(items[2].next == nullptr);
  CHECK(stack.empty());
  CHECK(stack.take() == nullptr);
  CHECK(stack.close() == nullptr);
  CHECK(stack.push(items[2]) == Pushed::refused);
}

TEST_CASE("each item that racing threads push is taken once, in the order of its thread",
          "[core][mpsc_stack][race]") {
  constexpr std::size_t producers = 3;
  constexpr std::size_t count = 20'000;
  std::vector<Shared> items(producers * count);
  SharedStack stack;
  std::atomic<std::size_t> firsts{0};
  std::vector<std::thread> threads;
  for (std::size_t producer = 0; producer < producers; ++producer)
    threads.emplace_back([&, producer] {
      for (std::size_t number = 0; number < count; ++number) {
        Shared& item = items[producer * count + number];
        item.producer = producer;
        item.number = number;
        if (stack.push(item) == Pushed::first) firsts.fetch_add(1, std::memory_order_relaxed);
      }
    });

  std::array<std::size_t, producers> next{};
  std::size_t taken = 0, batches = 0;
  bool in_order = true;
  while (taken < items.size()) {
    Shared* list = stack.take();
    if (!list) std::this_thread::yield();
    batches += list ? 1U : 0U;
    for (; list; list = SharedStack::next(*list), ++taken) {
      in_order = in_order && list->number == next[list->producer];
      ++next[list->producer];
    }
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(in_order);
  CHECK(stack.empty());
  CHECK(firsts == batches);  // so a consumer that is woken by each first item misses none
}

TEST_CASE("an item is either returned by close() or refused", "[core][mpsc_stack][race]") {
  constexpr std::size_t count = 2'000;
  for (int round = 0; round < 20; ++round) {
    std::vector<Shared> items(count);
    SharedStack stack;
    std::atomic<std::size_t> pushed{0};
    std::size_t refused = 0;
    std::thread producer([&] {
      for (Shared& item : items) {
        if (stack.push(item) == Pushed::refused) ++refused;
        pushed.fetch_add(1, std::memory_order_relaxed);
      }
    });
    const auto middle = count / 20 * static_cast<std::size_t>(round);
    while (pushed.load(std::memory_order_relaxed) < middle) std::this_thread::yield();
    std::size_t returned = 0;
    for (const Shared* item = stack.close(); item; item = SharedStack::next(*item)) ++returned;
    producer.join();
    CHECK(returned + refused == count);
    CHECK(stack.empty());
  }
}
