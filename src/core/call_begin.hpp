// CallBegin: whether a tool call has begun, and when its result came.
#pragma once

#include "core/atomic.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/llm_client.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

namespace agentcore::detail::core {

// A call begins with Tool::start, unless that function hands the call over: to a thread, or to another agent.
// Then begin() and withdraw() decide by one compare-and-set, whatever threads call them. The call, its tool
// and the message that does its work share the object, so it refers to none of them.
class CallBegin {
 public:
  CallBegin() = default;
  CallBegin(const CallBegin&) = delete;
  CallBegin& operator=(const CallBegin&) = delete;

  // Within Tool::start: the call begins later. A stop by `stop` withdraws it, on the stopping thread. False:
  // it was handed over before, or Tool::start has returned. @loop_thread
  bool hand_over(StopToken stop) {
    State expected = State::starting;
    if (!state_.compare_exchange_strong(expected, State::handed_over, std::memory_order_seq_cst))
      return false;
    on_stop_.emplace(std::move(stop), Withdraw{this});
    return true;
  }
  // Tool::start has returned: a call that was not handed over has begun. @loop_thread
  void end_start() noexcept {
    State expected = State::starting;
    state_.compare_exchange_strong(expected, State::begun, std::memory_order_seq_cst);
  }

  // The call begins. False: it was withdrawn. @threadsafe
  bool begin() noexcept {
    State expected = State::handed_over;
    return state_.compare_exchange_strong(expected, State::begun, std::memory_order_seq_cst) ||
           expected != State::withdrawn;
  }
  // True: the call has not begun, and will not. @threadsafe
  bool withdraw() noexcept {
    State expected = State::handed_over;
    return state_.compare_exchange_strong(expected, State::withdrawn, std::memory_order_seq_cst) ||
           expected == State::withdrawn;
  }
  bool waits() const noexcept { return state_.load(std::memory_order_seq_cst) == State::handed_over; }
  bool is_withdrawn() const noexcept { return state_.load(std::memory_order_seq_cst) == State::withdrawn; }

  // The time-out of the call; TimePoint::max(): none, or it does not run yet. Set before begin(). @threadsafe
  void set_end(TimePoint when) noexcept { ends_at_.store(when, std::memory_order_seq_cst); }
  TimePoint ends_at() const noexcept { return ends_at_.load(std::memory_order_seq_cst); }

  // When the result was given; TimePoint::max(): not yet, TimePoint::min(): by the loop thread, which does
  // not know when it came. @threadsafe
  void set_result(TimePoint when) noexcept { result_at_.store(when, std::memory_order_seq_cst); }
  bool has_result() const noexcept { return result_at() != TimePoint::max(); }
  bool has_result_in_time() const noexcept { return has_result() && result_at() <= ends_at(); }

  // How the loop looks whether the result of the call is there, before the call times out. @loop_thread
  void set_look(std::function<void()> look) noexcept { look_ = std::move(look); }
  void look() const {
    if (look_) look_();
  }

 private:
  enum class State : std::uint8_t {
    starting,     // in Tool::start, or not started yet
    handed_over,  // waits for its begin
    begun,
    withdrawn,  // never begins
  };
  struct Withdraw {
    CallBegin* call;
    void operator()() const noexcept { call->withdraw(); }
  };
  TimePoint result_at() const noexcept { return result_at_.load(std::memory_order_seq_cst); }

  Atomic<State> state_{State::starting};
  Atomic<TimePoint> ends_at_{TimePoint::max()};
  Atomic<TimePoint> result_at_{TimePoint::max()};
  std::function<void()> look_;
  std::optional<std::stop_callback<Withdraw>> on_stop_;  // last: its destructor waits for the callback
};

}  // namespace agentcore::detail::core
