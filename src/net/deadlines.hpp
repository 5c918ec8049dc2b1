// Deadlines: the time limits of a transfer: the silence allowed in each phase, and the total time.
#pragma once

#include "loop/time.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

#include <algorithm>

namespace agentcore::detail::net {

// The phases: connecting (name, TCP and TLS together), then waiting for the first body byte, then for each
// further one. Limits over all phases: the total time of the transfer, and its caller's own deadline. Kept
// apart from timers: data only stores a time, and the one timer of a transfer reads due() again when it
// fires.
class Deadlines {
 public:
  // Duration::max() and TimePoint::max(): none.
  struct Limits {
    Duration connect;
    Duration first_byte;
    Duration stall;
    Duration total = Duration::max();
    TimePoint deadline = TimePoint::max();
  };

  // `start` is where `total` begins.
  Deadlines(const Limits& limits, TimePoint start) noexcept
      : timeouts_{limits.connect, limits.first_byte, limits.stall, limits.total},
        end_(end_of(start, limits.total)),
        deadline_(limits.deadline),
        since_(start) {}

  // Each returns true when a new phase began, so that due() may be earlier than before. A redirect connects
  // again: its phases begin again, the total time does not.
  bool connecting(TimePoint now) noexcept { return enter(Phase::connect, now); }
  bool request_sent(TimePoint now) noexcept { return enter(Phase::first_byte, now); }
  bool data_received(TimePoint now) noexcept { return enter(Phase::stall, now); }

  // When the time is up; TimePoint::max(): never.
  TimePoint due() const noexcept { return std::min({silence_end(), end_, deadline_}); }

  // The length of the time-out that code() names. Meaningless for deadline_exceeded.
  Duration limit() const noexcept {
    return timeouts_[code() == Errc::total_timeout ? 3U : static_cast<unsigned>(phase_)];
  }

  bool is_connecting() const noexcept { return phase_ == Phase::connect; }

  // Which limit is the earliest. Of equal ones the caller's own comes first, then the total time.
  Errc code() const noexcept {
    constexpr Errc codes[] = {Errc::connect_timeout, Errc::first_byte_timeout, Errc::stall_timeout};
    const TimePoint silence = silence_end();
    if (deadline_ <= end_ && deadline_ <= silence) return Errc::deadline_exceeded;
    return end_ <= silence ? Errc::total_timeout : codes[static_cast<unsigned>(phase_)];
  }

 private:
  enum class Phase : unsigned char { connect, first_byte, stall };

  // The time of a clock may be so late that the sum would overflow.
  static TimePoint end_of(TimePoint start, Duration timeout) noexcept {
    return timeout == Duration::max() ? TimePoint::max() : loop::later(start, timeout);
  }
  TimePoint silence_end() const noexcept { return end_of(since_, timeouts_[static_cast<unsigned>(phase_)]); }

  bool enter(Phase phase, TimePoint now) noexcept {
    const bool is_new = phase != phase_;
    phase_ = phase;
    since_ = now;
    return is_new;
  }

  Duration timeouts_[4];  // of the three phases, then of the whole transfer
  TimePoint end_;
  TimePoint deadline_;
  TimePoint since_;
  Phase phase_ = Phase::connect;
};

}  // namespace agentcore::detail::net
