// WriteLimit: how many requests may change something in a time.
#pragma once

#include <agentcore/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace agentcore::detail::console {

// A bucket that fills with `per_second` tokens and holds twice as many. @loop_thread
class WriteLimit {
 public:
  explicit WriteLimit(std::uint32_t per_second) noexcept
      : per_second_(per_second), tokens_(2.0 * per_second) {}

  // Takes one token. False: there is none.
  bool take(TimePoint now) noexcept {
    if (last_ != TimePoint{}) {
      const double seconds = std::chrono::duration<double>(now - last_).count();
      tokens_ = std::min(2.0 * per_second_, tokens_ + seconds * per_second_);
    }
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  const double per_second_;
  double tokens_;
  TimePoint last_{};
};

}  // namespace agentcore::detail::console
