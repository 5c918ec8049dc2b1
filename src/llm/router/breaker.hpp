// Breaker: a circuit breaker: sends no calls to an endpoint that fails repeatedly.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/llm_router.hpp>

#include <cstdint>
#include <optional>

namespace agentcore::detail::llm {

// The health of an endpoint, judged by the end of an attempt.
enum class Health : unsigned char {
  well,     // it answered, possibly with a refusal of this request: 4xx, 429 included
  ill,      // no connection, no data in time, a broken connection, 5xx
  unknown,  // no evidence: the attempt was stopped, or failed for a reason of its own
};
Health health_of(const ChatOutcome& outcome) noexcept;

// Closed, it admits every attempt and counts failures in a row; `failures` of them open it, and then it
// admits none. After `open_for` it is half open: it admits one attempt at a time, a probe, whose end closes
// or opens it. The end of an attempt that began before the circuit last changed is ignored. @loop_thread
class Breaker {
 public:
  explicit Breaker(BreakerPolicy policy) : policy_(policy) {}

  // Permission to make one attempt; to be returned with settle(), however the attempt ends.
  struct Permit {
    std::uint64_t epoch = 0;
    bool probe = false;
  };
  enum class Change : unsigned char { none, opened, closed };

  // True when admit() would admit an attempt at that time, if nothing else happens before.
  bool admits(TimePoint now) const noexcept { return !open_ || (!probing_ && now >= until_); }
  std::optional<Permit> admit(TimePoint now) noexcept;
  // For an attempt that continues after its permit was settled: its end counts like any other's.
  Permit current() const noexcept { return {epoch_, false}; }
  Change settle(const Permit& permit, Health health, TimePoint now) noexcept;

  // How long it stays open from `now` on; 0 when it is closed or half open.
  Duration open_for(TimePoint now) const noexcept;

 private:
  Change open(TimePoint now) noexcept;
  Change close() noexcept;

  BreakerPolicy policy_;
  std::uint64_t epoch_ = 0;  // incremented by each change
  std::uint32_t failures_ = 0;
  bool open_ = false;
  bool probing_ = false;
  TimePoint until_{};
};

}  // namespace agentcore::detail::llm
