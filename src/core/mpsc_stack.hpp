// MpscStack: an intrusive lock-free stack: many threads push, one thread takes all items at once.
#pragma once

#include "core/atomic.hpp"

#include <bit>
#include <cstdint>

namespace agentcore::detail::core {

// The result of MpscStack::push().
enum class Pushed : std::uint8_t {
  first,    // added; the stack was empty before, so the consumer may have to be woken
  added,    // added above others
  refused,  // the stack is closed; the item was not touched by another thread
};

// A stack without nodes of its own: an item is linked by its member `Next`, which is a `T*` or a
// `Atomic<T*>`. It allocates nothing, and it does not own its items. Only the head is shared by threads;
// the links of taken items belong to the consumer.
//
//     struct Item { int value; Item* next = nullptr; };
//     MpscStack<Item, &Item::next> stack;
//
// Invariants:
// 1. An item is in at most one stack at a time, and at most once.
// 2. A link is written before the head that leads to it is published (release), and read after that head was
//    loaded (acquire).
// 3. take() removes all items in one exchange, so no compare-and-set on an item happens while it is in: an
//    item that is taken and pushed again cannot confuse a slow push (no ABA).
// 4. Once closed, the head keeps the closed mark permanently.
template <typename T, auto Next>
class MpscStack {
 public:
  MpscStack() = default;
  MpscStack(const MpscStack&) = delete;
  MpscStack& operator=(const MpscStack&) = delete;

  // @threadsafe
  Pushed push(T& item) noexcept {
    T* head = head_.load(std::memory_order_relaxed);
    do {
      if (head == closed_mark()) return Pushed::refused;
      link(item, head);
    } while (!head_.compare_exchange_weak(head, &item, std::memory_order_release, std::memory_order_relaxed));
    return head == nullptr ? Pushed::first : Pushed::added;
  }

  // True also once it is closed. @threadsafe
  bool empty() const noexcept {
    const T* const head = head_.load(std::memory_order_acquire);
    return head == nullptr || head == closed_mark();
  }

  // Removes all items and returns them oldest first, linked by `Next`; null when there are none. Only for the
  // consumer.
  T* take() noexcept {
    return empty() ? nullptr : oldest_first(head_.exchange(nullptr, std::memory_order_acquire));
  }

  // Calls visit(item) for each item, newest first. Only for the consumer.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    const T* item = head_.load(std::memory_order_acquire);
    if (item == closed_mark()) return;
    for (; item; item = next(*item)) visit(*item);
  }

  // Refuses every later push, and returns the result of take(). Only for the consumer.
  T* close() noexcept {
    T* const head = head_.exchange(closed_mark(), std::memory_order_acquire);
    return head == closed_mark() ? nullptr : oldest_first(head);
  }

  // The item after `item` in a list that take() or close() returned. Only for the consumer.
  static T* next(const T& item) noexcept {
    if constexpr (requires { (item.*Next).load(std::memory_order_relaxed); })
      return (item.*Next).load(std::memory_order_relaxed);
    else
      return item.*Next;
  }
  // Makes `next` the item after `item`. Only for items that are not in a stack.
  static void link(T& item, T* next) noexcept {
    if constexpr (requires { (item.*Next).store(next, std::memory_order_relaxed); })
      (item.*Next).store(next, std::memory_order_relaxed);
    else
      item.*Next = next;
  }

 private:
  // The head of a closed stack: an address without an object. So a push detects a closed stack in the same
  // exchange that would add its item.
  static T* closed_mark() noexcept { return std::bit_cast<T*>(std::uintptr_t{1}); }

  static T* oldest_first(T* newest) noexcept {
    T* oldest = nullptr;
    while (newest) {
      T* const older = next(*newest);
      link(*newest, oldest);
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  Atomic<T*> head_{nullptr};
};

}  // namespace agentcore::detail::core
