// limited: cuts the text of a tool to a number of bytes.
#pragma once

#include "core/utf8.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::detail::turn {

// Valid UTF-8 of at most `max_bytes`, followed by the number of bytes that were cut off, if any were. To be
// called once for a text: a second call would cut off the number that the first one wrote.
inline std::string limited(std::string text, std::size_t max_bytes) {
  if (!core::is_utf8(text)) text = core::valid_utf8(text);
  if (text.size() <= max_bytes) return text;
  const std::string_view kept = core::whole_characters(std::string_view(text).substr(0, max_bytes));
  return std::string(kept) + "\n[" + std::to_string(text.size() - kept.size()) + " bytes more were dropped]";
}

}  // namespace agentcore::detail::turn
