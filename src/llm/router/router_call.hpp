// RouterCall: one model call on its way along the routes.
#pragma once

#include "llm/active_requests.hpp"
#include "llm/router/breaker.hpp"
#include "llm/router/slots.hpp"
#include "llm/router/verdict.hpp"
#include "loop/engine.hpp"

#include <agentcore/llm_router.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::llm {

class RouterCall;

// Stops a call from a caller's stop token. Unlike StopCall it holds the call meanwhile: a client may well end
// the attempt, and with it the call, from within its own stop callback.
struct StopRouted {
  std::weak_ptr<RouterCall> call;
  void operator()() const noexcept;
};

// What the calls of one router share. Lives as long as the last of them and of their attempts.
struct RouterShared {
  // One way, with what it shares with others of the same endpoint.
  struct Way {
    Route route;
    std::shared_ptr<Endpoint> endpoint;
    std::shared_ptr<Breaker> breaker;
  };

  RouterShared(std::shared_ptr<loop::Engine> loop, std::shared_ptr<Slots> call_slots,
               const RouterOptions& options);

  const std::shared_ptr<loop::Engine> engine;
  const std::shared_ptr<Slots> slots;
  const RetryPolicy retry;
  const std::function<void(const RetryNotice&)> on_retry;
  const std::shared_ptr<ActiveRequests> requests = std::make_shared<ActiveRequests>();
  std::vector<Way> ways;
  std::map<std::uint64_t, std::shared_ptr<RouterCall>> open;  // without an outcome yet, by number
  std::uint64_t started = 0;
  bool closing = false;
};

// One call. It waits for a slot, makes an attempt, backs off, and so on, until there is an outcome
// (docs/design/routing.md). Everything that runs code of the host may end it: it is asked for its end after
// each. All @loop_thread but what OpenCall says.
class RouterCall final : public OpenCall, public Waiter, public std::enable_shared_from_this<RouterCall> {
 public:
  RouterCall(std::shared_ptr<RouterShared> shared, ChatRequest request);

  // Begins. The call is in shared->open from here to its outcome, and hears `stop`.
  void start(StopToken stop, ChatSink sink);

  // Cuts the attempt that runs, and wakes the loop for everything else.
  void cut() noexcept override;

  // Cuts the call and delivers its `cancelled` outcome now.
  void cancel();

  void on_slot(Slot slot) override;
  void on_left_alone() override;

  // From its attempt.
  void on_delta(std::string_view text);
  void on_reasoning(std::string_view text);
  void on_rate_limit(const RateLimit& limit);
  void on_attempt_ended(ChatOutcome outcome, Breaker::Change change);
  void on_circuit(Breaker::Change change) const;

 private:
  enum class Phase : unsigned char { deciding, waiting, attempting, backing_off };

  bool ended() const noexcept { return shared_ == nullptr; }
  bool silenced() const noexcept { return ended() || late_ || stopped(); }
  bool goes_on();

  // On which route, and when.
  std::size_t usable(std::size_t from, Error& why) const;
  Duration patience() const noexcept;
  Duration pause_of(std::size_t route) const noexcept;
  Error pause_error(Duration pause) const;
  void enter(std::size_t route);
  void pass_over(const Error& why);
  void try_elsewhere(std::size_t next, const Error& error);
  void try_later(Duration delay, const Error& error);
  void decide(const Error& error);
  bool may_try_again(const Error& error) const noexcept;
  Duration next_delay(const Error& error);
  bool tell(std::size_t next, Duration delay, const Error& error);

  // Attempts.
  void wait_for_slot();
  void attempt(Slot slot);
  void call_client(Slot slot, const Breaker::Permit& permit, StopToken stop);
  ChatRequest next_request();
  StopToken new_attempt_stop();
  StopSource attempt_stop() noexcept;
  void drop_attempt_stop() noexcept;
  void begin_delivery();
  void account(const ChatOutcome& outcome) noexcept;

  // What ends a wait.
  void on_stopped();
  void on_deadline();
  void on_backed_off();
  bool is_late_at(TimePoint when) const noexcept { return deadline_ && when >= *deadline_; }

  void fail(const Error& error);
  void end(ChatOutcome outcome);

  const std::shared_ptr<loop::Engine> engine_;
  std::shared_ptr<RouterShared> shared_;  // null: it has its outcome
  const std::uint64_t number_;
  ChatRequest request_;  // kept as long as another attempt is possible
  ChatSink sink_;

  // The stop of the attempt that runs; a fresh one for each. Other threads stop it.
  std::mutex attempt_mutex_;
  StopSource attempt_stop_{std::nostopstate};
  std::optional<std::stop_callback<StopRouted>> on_stop_;

  Phase phase_ = Phase::deciding;
  bool delivered_ = false;  // something of an answer
  bool late_ = false;       // the deadline passed
  bool cost_known_ = true;  // of all that used tokens
  std::size_t route_ = 0;
  std::uint32_t attempt_ = 0;   // of this route
  std::uint64_t attempts_ = 0;  // of all
  const std::uint64_t tokens_;  // estimate for one attempt
  std::optional<TimePoint> deadline_;
  std::uint64_t timer_ = 0;  // of the back-off
  std::uint64_t deadline_timer_ = 0;
  Error last_error_;
  Usage usage_;                 // of all attempts
  std::optional<double> cost_;  // the same
};

}  // namespace agentcore::llm
