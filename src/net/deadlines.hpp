// Deadlines: until when a transfer may stay silent, phase by phase.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

namespace agentcore::net {

// Connecting (name, TCP and TLS together), then waiting for the first body byte, then for each further one.
// Kept apart from timers: data only stores a time, and the one timer of a transfer asks due() again when it
// fires.
class Deadlines {
 public:
  Deadlines(Duration connect, Duration first_byte, Duration stall) noexcept
      : timeouts_{connect, first_byte, stall} {}

  // Each returns true when a new phase began, so that the end may now be nearer than it was.
  bool connecting(TimePoint now) noexcept { return enter(Phase::connect, now); }
  bool request_sent(TimePoint now) noexcept { return enter(Phase::first_byte, now); }
  bool data_received(TimePoint now) noexcept { return enter(Phase::stall, now); }

  // When the present silence becomes a timeout; TimePoint::max(): never.
  TimePoint due() const noexcept {
    const Duration timeout = timeouts_[static_cast<unsigned>(phase_)];
    return timeout >= TimePoint::max() - since_ ? TimePoint::max() : since_ + timeout;
  }

  bool is_connecting() const noexcept { return phase_ == Phase::connect; }

  // Which timeout that is.
  Errc code() const noexcept {
    constexpr Errc codes[] = {Errc::connect_timeout, Errc::first_byte_timeout, Errc::stall_timeout};
    return codes[static_cast<unsigned>(phase_)];
  }

 private:
  enum class Phase : unsigned char { connect, first_byte, stall };

  bool enter(Phase phase, TimePoint now) noexcept {
    const bool is_new = phase != phase_;
    phase_ = phase;
    since_ = now;
    return is_new;
  }

  Duration timeouts_[3];
  TimePoint since_{};
  Phase phase_ = Phase::connect;
};

}  // namespace agentcore::net
