// Texts that say nothing.
#pragma once

#include <string_view>

namespace agentcore::core {

// True for an empty text and for one of nothing but ASCII white space.
constexpr bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

}  // namespace agentcore::core
