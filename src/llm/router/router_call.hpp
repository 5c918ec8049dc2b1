// RouterCall: one model call, which tries routes until there is an outcome.
#pragma once

#include "core/atomic.hpp"
#include "core/stoppable.hpp"
#include "llm/active_calls.hpp"
#include "llm/router/attempt_stop.hpp"
#include "llm/router/breaker.hpp"
#include "llm/router/call_account.hpp"
#include "llm/router/route_plan.hpp"
#include "llm/router/router_shared.hpp"
#include "llm/router/slot.hpp"
#include "loop/wait_clock.hpp"

#include <agentcore/llm_router.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// The call waits for a slot, makes an attempt, backs off, and so on (docs/design/routing.md). Code of the
// host may end the call: goes_on() is checked after it runs. All @loop_thread but stop(), is_stopped().
//
// Invariants:
// 1. The call is in shared_->open, and shared_ is not null, from start() until it has its outcome.
// 2. An attempt's stop source is published before is_stopped() is read, and stop() sets the flag before it
//    triggers the source: either the stop reaches the attempt, or the attempt does not begin.
class RouterCall final : public core::Stoppable,
                         public Waiter,
                         public std::enable_shared_from_this<RouterCall> {
 public:
  RouterCall(std::shared_ptr<RouterShared> shared, ChatRequest request);

  // Fails if the agent has another call open.
  void start(StopToken stop, ChatSink sink);

  // Stops the running attempt, on the calling thread, and wakes the loop for everything else. @threadsafe
  bool stop() noexcept override;
  bool is_stopped() const noexcept override { return stopped_.load(std::memory_order_acquire); }

  // Stops the call and delivers its `cancelled` outcome now.
  void cancel();

  void on_slot(Slot slot) override;
  void on_pause_too_long() override;

  // From its attempt.
  void on_delta(std::string_view text);
  void on_reasoning(std::string_view text);
  void on_rate_limit(const RateLimit& limit);
  void on_attempt_ended(ChatOutcome outcome, Breaker::Change change);
  void on_circuit(Breaker::Change change) const;

 private:
  enum class Phase : std::uint8_t {
    deciding,     // never outside of a function of this class
    waiting,      // for a slot
    paused,       // its agent is paused: then it waits for a slot
    attempting,   // the route's client runs the call
    backing_off,  // until the clock ends, which does not run in a pause
    ended,        // the outcome was delivered, or is being delivered
  };

  // Holds the call while it is stopped: a client may end the attempt, and with it the call, from within its
  // own stop callback.
  struct StopHeld {
    std::weak_ptr<RouterCall> call;
    void operator()() const noexcept {
      if (const auto alive = call.lock()) alive->stop();
    }
  };

  // Calls the function. Without memory the call fails: nothing else would end it.
  template <typename Step>
  void run(Step&& step) noexcept;
  bool goes_on();
  template <typename Deliver>
  void deliver(Deliver&& deliver);

  void begin(StopToken stop);
  void on_pause_change();
  void wait_for_slot();
  void use(Slot slot);
  void call_client(Slot slot, const Breaker::Permit& permit, StopToken stop);

  void follow(ChatOutcome outcome, Breaker::Change change);
  void decide(const ChatError& error);
  void leave_route(const ChatError& why);
  void go_to(std::size_t route, const ChatError& error);
  void back_off(Duration delay, const ChatError& error);
  bool notify(std::size_t next, Duration delay, const ChatError& error);

  void on_deadline();
  void expire();
  void fail(const ChatError& error);
  void end(ChatOutcome outcome);

  const std::shared_ptr<loop::Engine> engine_;
  std::shared_ptr<RouterShared> shared_;
  const std::uint64_t number_;
  const std::string agent_id_;
  const std::uint64_t tree_;
  ChatRequest request_;  // released when no other attempt is possible
  ChatSink sink_;
  RoutePlan plan_;
  CallAccount account_;
  const PauseToken pause_;
  std::shared_ptr<void> on_pause_;  // the registration with `pause_`
  Registration registration_;

  core::Atomic<bool> stopped_{false};
  AttemptStop attempt_stop_;
  std::optional<std::stop_callback<StopHeld>> on_stop_;

  Phase phase_ = Phase::deciding;
  bool has_delivered_ = false;  // a part of an answer: no other attempt is possible
  bool is_late_ = false;        // the deadline passed during an attempt, which was stopped
  loop::WaitClock backoff_;
  std::uint64_t deadline_timer_ = 0;
  ChatError last_error_;  // of the last attempt that failed; code `none`: there was none
};

}  // namespace agentcore::detail::llm
