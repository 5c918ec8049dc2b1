// Breaker: leaves an endpoint alone that fails again and again.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/llm_router.hpp>

#include <cstdint>
#include <optional>

namespace agentcore::llm {

// What an attempt's end says about its endpoint.
enum class Health : unsigned char {
  well,     // it answered, if only with a refusal of this request: 4xx, 429 included
  ill,      // no connection, silence, a cut, 5xx
  unknown,  // nothing: the attempt was stopped, or failed for a reason that is not the endpoint's
};
Health health_of(const ChatOutcome& outcome) noexcept;

// A circuit. Closed, it lets everybody through and counts failures in a row; `failures` of them open it, and
// then nobody gets through. After `open_for` it is half open: one attempt at a time may try, and how that
// ends closes or opens it. What was begun before the circuit last changed has no say any more. @loop_thread
class Breaker {
 public:
  explicit Breaker(BreakerPolicy policy) : policy_(policy) {}

  // Leave to make one attempt; to be handed in again with settle(), however the attempt ends.
  struct Permit {
    std::uint64_t epoch = 0;
    bool probe = false;
  };
  enum class Change : unsigned char { none, opened, closed };

  // Whether admit() would let someone through then, as things are.
  bool admits(TimePoint now) const noexcept { return !open_ || (!probing_ && now >= until_); }
  std::optional<Permit> admit(TimePoint now) noexcept;
  // For an attempt that goes on after its permit was settled: its end has a say like any other's.
  Permit current() const noexcept { return {epoch_, false}; }
  Change settle(const Permit& permit, Health health, TimePoint now) noexcept;

  // How long it stays open from `now` on; 0 when it is closed or half open.
  Duration open_for(TimePoint now) const noexcept;

 private:
  Change open(TimePoint now) noexcept;
  Change close() noexcept;

  BreakerPolicy policy_;
  std::uint64_t epoch_ = 0;  // moves on with each change
  std::uint32_t failures_ = 0;
  bool open_ = false;
  bool probing_ = false;
  TimePoint until_{};
};

}  // namespace agentcore::llm
