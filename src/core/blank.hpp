// Blank texts.
#pragma once

#include <string_view>

namespace agentcore::detail::core {

// True for a text that is empty or consists of ASCII white space only.
constexpr bool is_blank(std::string_view text) noexcept {
  for (const char byte : text)
    if (byte != ' ' && (byte < '\t' || byte > '\r')) return false;  // tab, line feed, ..., carriage return
  return true;
}

}  // namespace agentcore::detail::core
