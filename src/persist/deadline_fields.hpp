// The members of a record that are a deadline.
#pragma once

#include "loop/wall_deadline.hpp"
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
  const auto when = object.find("deadline");
  if (when == object.end()) return std::nullopt;
  loop::WallDeadline deadline{
      WallTime(std::chrono::duration_cast<WallTime::duration>(duration_of(when->get<std::int64_t>())))};
  if (const auto left = object.find("time_left"); left != object.end())
    deadline.left = duration_of(left->get<std::int64_t>());
  return deadline;
}

}  // namespace agentcore::detail::persist
