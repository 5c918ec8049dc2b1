// Durations as people read them.
#pragma once

#include <agentcore/clock.hpp>

#include <chrono>

namespace store_tool {

inline double seconds_of(agentcore::Duration duration) noexcept {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace store_tool
