// LoopState: what all parts of an Engine read: its clock, its thread, whether it is closed.
#pragma once

#include "core/atomic.hpp"
#include "core/home_process.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/ref.hpp>

#include <thread>

namespace agentcore::detail::loop {

// Invariants:
// 1. `clock` refers to an object from construction to destruction.
// 2. `closed` becomes true once, on the loop thread, and stays so. Any code of the host may close the engine:
//    whatever calls such code reads `closed` again afterwards.
// 3. `in_poll` is true exactly while a poll is on the stack of the loop thread.
struct LoopState {
  explicit LoopState(const Ref<Clock>& given)
      : clock(given ? given : Ref<Clock>(&system_clock)),
        has_system_clock(dynamic_cast<const SystemClock*>(clock.get()) != nullptr) {}
  LoopState(const LoopState&) = delete;
  LoopState& operator=(const LoopState&) = delete;

  TimePoint now() const noexcept { return clock->now(); }  // @threadsafe
  bool on_loop_thread() const noexcept {
    return thread.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }  // @threadsafe
  // Another thread has called that function, which is for the loop thread. @threadsafe
  void note_wrong_thread(const char* function) noexcept {
    const char* none = nullptr;
    called_on_wrong_thread.compare_exchange_strong(none, function);
  }

  SystemClock system_clock;
  Ref<Clock> clock;
  bool has_system_clock;  // the time of `clock` is that of the system's timers

  const core::HomeProcess home;
  core::Atomic<bool> closed{false};
  core::Atomic<std::thread::id> thread{std::this_thread::get_id()};  // the loop thread
  core::Atomic<bool> in_poll{false};                                 // written by the loop thread alone
  // A function of the loop thread that another thread has called, for the log; null: none since the last
  // poll.
  core::Atomic<const char*> called_on_wrong_thread{nullptr};
};

}  // namespace agentcore::detail::loop
