// Json: how the console writes JSON.
#pragma once

#include <agentcore/clock.hpp>

#include <chrono>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace agentcore::detail::console {

// The members of an object keep their order.
using Json = nlohmann::ordered_json;

// One line. Invalid UTF-8 is replaced by U+FFFD.
inline std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Milliseconds since 1970.
inline std::int64_t to_milliseconds(WallTime time) noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace agentcore::detail::console
