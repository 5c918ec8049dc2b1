// Text of headers and addresses, independent of the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace agentcore::detail::net {

inline char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), to_lower);
  return small;
}

inline std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

}  // namespace agentcore::detail::net
