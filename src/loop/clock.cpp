#include "platform/boot_timer.hpp"

#include <agentcore/clock.hpp>

namespace agentcore {

TimePoint SystemClock::boot_time() const noexcept {
  return detail::platform::boot_time();
}

}  // namespace agentcore
