// The id of an event: "EPOCH-N". Another run of the server has another epoch.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace console_app::top {

struct EventId {
  std::string epoch = {};
  std::uint64_t number = 0;

  bool is_after(const EventId& other) const { return epoch == other.epoch && number > other.number; }
  std::string text() const { return epoch.empty() ? std::string() : epoch + "-" + std::to_string(number); }
};

// The default if the text is no id.
inline EventId event_id(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return {};
  EventId id{.epoch = std::string(text.substr(0, dash))};
  const char* const end = text.data() + text.size();
  const auto [at, failure] = std::from_chars(text.data() + dash + 1, end, id.number);
  return failure == std::errc() && at == end ? id : EventId();
}

}  // namespace console_app::top
