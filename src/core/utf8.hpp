// UTF-8: checks and repairs text. Received text is made valid before it is used.
#pragma once

#include "core/internal_api.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace agentcore::detail::core {

// True for well-formed UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
inline bool is_utf8(std::string_view text) noexcept {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  const auto continues = [&](int count) {
    if (end - p <= count) return false;
    for (int i = 1; i <= count; ++i)
      if ((p[i] & 0xC0) != 0x80) return false;
    return true;
  };
  while (p < end) {
    if (end - p >= 8) {  // eight ASCII characters at a time
      std::uint64_t block;
      std::memcpy(&block, p, sizeof block);
      if ((block & 0x8080'8080'8080'8080U) == 0) {
        p += 8;
        continue;
      }
    }
    if (*p < 0x80) {
      p += 1;
    } else if (*p >= 0xC2 && *p <= 0xDF) {
      if (!continues(1)) return false;
      p += 2;
    } else if (*p >= 0xE0 && *p <= 0xEF) {
      if (!continues(2) || (*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] > 0x9F)) return false;
      p += 3;
    } else if (*p >= 0xF0 && *p <= 0xF4) {
      if (!continues(3) || (*p == 0xF0 && p[1] < 0x90) || (*p == 0xF4 && p[1] > 0x8F)) return false;
      p += 4;
    } else {
      return false;
    }
  }
  return true;
}

// Appends the code point in UTF-8. An invalid one (a surrogate, or too large) is appended as U+FFFD.
AGENTCORE_INTERNAL_API void append_utf8(std::string& to, char32_t code_point);

// `text` with every maximal broken sequence replaced by one U+FFFD, as browsers do.
AGENTCORE_INTERNAL_API std::string valid_utf8(std::string_view text);

// The longest beginning of valid UTF-8 that has at most `characters` code points.
AGENTCORE_INTERNAL_API std::string_view first_characters(std::string_view text,
                                                         std::size_t characters) noexcept;

// The longest beginning of `text` that has at most `bytes` bytes and ends with a whole character.
AGENTCORE_INTERNAL_API std::string_view first_bytes(std::string_view text, std::size_t bytes) noexcept;

// `text` without the last character, if a cut has left that one incomplete.
AGENTCORE_INTERNAL_API std::string_view whole_characters(std::string_view text) noexcept;

}  // namespace agentcore::detail::core
