#include "core/utf8.hpp"

namespace agentcore::detail::core {
namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

unsigned byte_at(std::string_view text, std::size_t index) noexcept {
  return index < text.size() ? static_cast<unsigned char>(text[index]) : 0U;
}

struct Sequence {
  std::size_t length;  // bytes that belong together, at least 1
  bool valid;
};

// The sequence at the beginning of a non-empty text, by the table of well-formed sequences in the Unicode
// standard (3-7): only the second byte's range depends on the first.
Sequence first_sequence(std::string_view text) noexcept {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t index = 1; index < length; ++index) {
    const unsigned next = byte_at(text, index);
    if (next < low || next > high) return {index, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

}  // namespace

void append_utf8(std::string& to, char32_t code_point) {
  const auto add = [&to](char32_t byte) { to.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xC0 | (code_point >> 6));
    add(0x80 | (code_point & 0x3F));
  } else if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) {
    to.append(replacement_character);
  } else {
    if (code_point < 0x10000) {
      add(0xE0 | (code_point >> 12));
    } else {
      add(0xF0 | (code_point >> 18));
      add(0x80 | ((code_point >> 12) & 0x3F));
    }
    add(0x80 | ((code_point >> 6) & 0x3F));
    add(0x80 | (code_point & 0x3F));
  }
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const Sequence sequence = first_sequence(text);
    valid.append(sequence.valid ? text.substr(0, sequence.length) : replacement_character);
    text.remove_prefix(sequence.length);
  }
  return valid;
}

std::string_view first_characters(std::string_view text, std::size_t characters) noexcept {
  std::size_t end = 0;
  while (end < text.size() && characters-- > 0) end += first_sequence(text.substr(end)).length;
  return text.substr(0, end);
}

std::string_view whole_characters(std::string_view text) noexcept {
  for (std::size_t length = 1; length <= 3 && length <= text.size(); ++length) {
    const std::string_view tail = text.substr(text.size() - length);
    const unsigned lead = byte_at(tail, 0);
    if (lead >= 0x80 && lead < 0xC0) continue;  // inside of a character
    const Sequence sequence = first_sequence(tail);
    const bool cut = lead >= 0xC2 && lead <= 0xF4 && !sequence.valid && sequence.length == length;
    return cut ? text.substr(0, text.size() - length) : text;
  }
  return text;
}

std::string_view first_bytes(std::string_view text, std::size_t bytes) noexcept {
  return whole_characters(text.substr(0, bytes));
}

}  // namespace agentcore::detail::core
