// Blank texts.
#pragma once

#include <string_view>

namespace agentcore::detail::core {

// True for a text that is empty or consists of ASCII white space only.
constexpr bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

}  // namespace agentcore::detail::core
