// Attempt: receives the deltas and the outcome of one attempt from a route's client.
#pragma once

#include "llm/router/breaker.hpp"
#include "llm/router/router_call.hpp"
#include "llm/router/slots.hpp"
#include "loop/engine.hpp"

#include <agentcore/llm_client.hpp>

#include <memory>
#include <string_view>
#include <utility>

namespace agentcore::detail::llm {

// Holds the slot until the client ends the attempt, even when the call has its outcome and the router is
// destroyed.
class Attempt final : public ChatSink::Receiver {
 public:
  Attempt(std::shared_ptr<RouterCall> call, Slot slot, std::shared_ptr<Breaker> breaker,
          const Breaker::Permit& permit, std::shared_ptr<loop::Engine> engine)
      : call_(std::move(call)),
        slot_(std::move(slot)),
        breaker_(std::move(breaker)),
        permit_(permit),
        engine_(std::move(engine)) {}

  void on_delta(std::string_view text) override {
    if (engine_->refuses_thread("ChatSink::delta")) return;
    begin_answer();
    call_->on_delta(text);
  }
  void on_reasoning(std::string_view text) override {
    if (engine_->refuses_thread("ChatSink::reasoning")) return;
    begin_answer();
    call_->on_reasoning(text);
  }
  void on_rate_limit(const RateLimit& limit) override {
    if (engine_->refuses_thread("ChatSink::rate_limit")) return;
    slot_.learn(limit);
    call_->on_rate_limit(limit);
  }
  // On another thread than that of the loop, the attempt fails on the loop thread.
  void on_outcome(ChatOutcome outcome) override {
    if (!engine_->refuses_thread("ChatSink::finish")) return end(std::move(outcome));
    auto self = std::make_shared<Attempt>(call_, std::move(slot_), breaker_, permit_, engine_);
    engine_->post([self = std::move(self)] {
      self->end(ChatOutcome::failed(ChatError::from(loop::wrong_thread("ChatSink::finish"))));
    });
  }

 private:
  void end(ChatOutcome outcome) {
    slot_.end(outcome);
    const auto change = breaker_->settle(permit_, health_of(outcome), engine_->now());
    call_->on_attempt_ended(std::move(outcome), change);
  }

  // An endpoint that begins to answer is healthy: the probe must not delay other calls until a long answer
  // ends. The end of the answer counts like that of any other attempt.
  void begin_answer() {
    if (!permit_.probe) return;
    const auto change = breaker_->settle(permit_, Health::well, engine_->now());
    permit_ = breaker_->current();
    call_->on_circuit(change);
  }

  const std::shared_ptr<RouterCall> call_;
  Slot slot_;
  const std::shared_ptr<Breaker> breaker_;
  Breaker::Permit permit_;
  const std::shared_ptr<loop::Engine> engine_;
};

}  // namespace agentcore::detail::llm
