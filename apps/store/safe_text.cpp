#include "safe_text.hpp"

#include "core/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace store_tool {
namespace {

struct CodePoints {
  char32_t first;
  char32_t last;
};

// What a person does not see, or what changes how other text is shown. The joiners U+200C and U+200D stay:
// scripts and emoji need them.
constexpr std::array hidden{
    CodePoints{0x80, 0x9F},        // C1 controls
    CodePoints{0xAD, 0xAD},        // soft hyphen
    CodePoints{0x61C, 0x61C},      // Arabic letter mark
    CodePoints{0x180E, 0x180E},    // Mongolian vowel separator
    CodePoints{0x200B, 0x200B},    // zero width space
    CodePoints{0x200E, 0x200F},    // marks of direction
    CodePoints{0x2028, 0x202E},    // ends of lines and paragraphs, embeddings and overrides of direction
    CodePoints{0x2060, 0x206F},    // word joiner, invisible operators, isolates of direction
    CodePoints{0xFEFF, 0xFEFF},    // byte order mark
    CodePoints{0xFFF9, 0xFFFB},    // interlinear annotation
    CodePoints{0xE0000, 0xE0FFF},  // tags, and what else has no shape
};

bool is_hidden(char32_t code_point) noexcept {
  return std::any_of(hidden.begin(), hidden.end(), [&](const CodePoints& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

// The code point of one well-formed sequence.
char32_t decoded(std::string_view sequence) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return byte(0);
  char32_t code_point = byte(0) & (0xFFU >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) code_point = code_point << 6 | (byte(i) & 0x3FU);
  return code_point;
}

void append_ascii(std::string& to, char byte) {
  if (byte == '\n')
    to += "\\n";
  else if (byte == '\t')
    to += "\\t";
  else if (byte == '\r')
    to += "\\r";
  else if (byte == '\\')
    to += "\\\\";
  else if (byte < ' ' || byte == 0x7F)
    to += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  else
    to += byte;
}

// Appends the first character of the text, and returns how many bytes that has.
std::size_t append_first(std::string& to, std::string_view text) {
  if (static_cast<unsigned char>(text[0]) < 0x80) {
    append_ascii(to, text[0]);
    return 1;
  }
  for (std::size_t length = 2; length <= std::min<std::size_t>(4, text.size()); ++length) {
    const std::string_view sequence = text.substr(0, length);
    if (!agentcore::detail::core::is_utf8(sequence)) continue;
    if (const char32_t code_point = decoded(sequence); is_hidden(code_point))
      to += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(code_point));
    else
      to += sequence;
    return length;
  }
  to += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
  return 1;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) text.remove_prefix(append_first(safe, text));
  return safe;
}

std::string indented(std::string_view text, std::string_view margin) {
  std::string lines;
  for (;;) {
    const std::size_t end = text.find('\n');
    lines.append(margin).append(printable(text.substr(0, end))) += '\n';
    if (end == std::string_view::npos || end + 1 == text.size()) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string safe_json(const nlohmann::ordered_json& value) {
  return value.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace store_tool
