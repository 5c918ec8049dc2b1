// limited: what a tool says, as much of it as a history takes.
#pragma once

#include "core/utf8.hpp"

#include <cstddef>
#include <string>

namespace agentcore::turn {

// Valid UTF-8 of at most `max_bytes`, and behind it how much was cut off, if anything was.
inline std::string limited(std::string text, std::size_t max_bytes) {
  if (!core::is_utf8(text)) text = core::valid_utf8(text);
  if (text.size() <= max_bytes) return text;
  const std::size_t dropped = text.size() - max_bytes;
  text.resize(max_bytes);
  text = core::whole_characters(text);
  return text + "\n[" + std::to_string(dropped) + " bytes more were dropped]";
}

}  // namespace agentcore::turn
