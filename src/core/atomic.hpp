// Atomic: an atomic value by which threads of the library agree.
#pragma once

#include "core/thread_schedule.hpp"

#include <atomic>

namespace agentcore::detail::core {

// In a build with AGENTCORE_YIELD_POINTS a scheduler may let another thread go on before each access
// (docs/design/simulation.md, "Threads under control"). In all others this is std::atomic itself.
#ifndef AGENTCORE_YIELD_POINTS
template <typename T>
using Atomic = std::atomic<T>;
#else
template <typename T>
class Atomic {
  using Order = std::memory_order;
  static constexpr Order strictest = std::memory_order_seq_cst;

 public:
  constexpr Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: as std::atomic
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T operator=(T value) noexcept {
    store(value);
    return value;
  }
  operator T() const noexcept { return load(); }  // NOLINT: as std::atomic

  T load(Order order = strictest, Place where = Place::current()) const noexcept {
    yield_point(this, Access::load, where);
    return value_.load(order);
  }
  void store(T value, Order order = strictest, Place where = Place::current()) noexcept {
    yield_point(this, Access::store, where);
    value_.store(value, order);
  }
  T exchange(T value, Order order = strictest, Place where = Place::current()) noexcept {
    yield_point(this, Access::change, where);
    return value_.exchange(value, order);
  }
  bool compare_exchange_strong(T& expected, T desired, Order order = strictest,
                               Place where = Place::current()) noexcept {
    yield_point(this, Access::change, where);
    return value_.compare_exchange_strong(expected, desired, order);
  }
  bool compare_exchange_strong(T& expected, T desired, Order done, Order failed,
                               Place where = Place::current()) noexcept {
    yield_point(this, Access::change, where);
    return value_.compare_exchange_strong(expected, desired, done, failed);
  }
  bool compare_exchange_weak(T& expected, T desired, Order order = strictest,
                             Place where = Place::current()) noexcept {
    return compare_exchange_strong(expected, desired, order, where);
  }
  bool compare_exchange_weak(T& expected, T desired, Order done, Order failed,
                             Place where = Place::current()) noexcept {
    return compare_exchange_strong(expected, desired, done, failed, where);
  }
  T fetch_add(T value, Order order = strictest, Place where = Place::current()) noexcept {
    yield_point(this, Access::change, where);
    return value_.fetch_add(value, order);
  }
  T fetch_sub(T value, Order order = strictest, Place where = Place::current()) noexcept {
    yield_point(this, Access::change, where);
    return value_.fetch_sub(value, order);
  }
  T fetch_or(T value, Order order = strictest, Place where = Place::current()) noexcept {
    yield_point(this, Access::change, where);
    return value_.fetch_or(value, order);
  }
  T fetch_and(T value, Order order = strictest, Place where = Place::current()) noexcept {
    yield_point(this, Access::change, where);
    return value_.fetch_and(value, order);
  }
  T operator++() noexcept { return fetch_add(T(1)) + T(1); }
  T operator++(int) noexcept { return fetch_add(T(1)); }
  T operator--() noexcept { return fetch_sub(T(1)) - T(1); }
  T operator--(int) noexcept { return fetch_sub(T(1)); }

 private:
  std::atomic<T> value_;
};
#endif

}  // namespace agentcore::detail::core
