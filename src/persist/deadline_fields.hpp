// The members of a record that are a deadline.
#pragma once

#include "loop/time.hpp"
#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace agentcore::detail::persist {

// `Unit`: of the numbers.
template <typename Unit>
void add_deadline(RecordText& text, const loop::WallDeadline& deadline) {
  text.add("deadline", std::chrono::duration_cast<Unit>(deadline.when.time_since_epoch()).count());
  text.add("time_left", std::chrono::duration_cast<Unit>(deadline.left).count());
}

// Throws json::exception.
template <typename Unit>
std::optional<loop::WallDeadline> read_deadline(const json& object) {
  const auto duration_of = [](std::int64_t count) {
    constexpr std::int64_t most = std::chrono::duration_cast<Unit>(Duration::max()).count();
    return std::chrono::duration_cast<Duration>(Unit(std::clamp(count, std::int64_t{0}, most)));
  };
  std::optional<std::int64_t> when, left;
  get(object, "deadline", when);
  get(object, "time_left", left);
  if (!when) return std::nullopt;
  loop::WallDeadline deadline{WallTime(std::chrono::duration_cast<WallTime::duration>(duration_of(*when)))};
  if (left) deadline.left = duration_of(*left);
  return deadline;
}

}  // namespace agentcore::detail::persist
