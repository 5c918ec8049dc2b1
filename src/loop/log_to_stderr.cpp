// log_to_stderr(): a log sink for hosts without a logger of their own.
#include "core/utf8.hpp"

#include <agentcore/log.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace agentcore {

namespace {

// Characters that a terminal or a reader of lines could take for more than text.
constexpr bool is_unprintable(char32_t c) noexcept {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f);  // C0, DEL and C1
}
constexpr bool separates_lines(char32_t c) noexcept {
  return c == 0x2028 || c == 0x2029;
}
constexpr bool changes_direction(char32_t c) noexcept {
  return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

// Reads the code point at the beginning of `text`, which is not empty and valid UTF-8, and removes it.
char32_t take_code_point(std::string_view& text) noexcept {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  constexpr std::array<unsigned char, 5> mask{0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t code_point = first & mask[size];
  for (std::size_t i = 1; i < size; ++i)
    code_point = (code_point << 6U) | (static_cast<unsigned char>(text[i]) & 0x3fU);
  text.remove_prefix(size);
  return code_point;
}

void append_escape(std::string& line, char32_t code_point) {
  if (code_point == '\n') {
    line += "\\n";
  } else if (code_point == '\r') {
    line += "\\r";
  } else if (code_point == '\t') {
    line += "\\t";
  } else {
    std::array<char, 16> escape{};  // all of them are below U+10000: four digits
    std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(code_point));
    line += escape.data();
  }
}

// Appends `text` so that it stays within its line, and within its quotes.
void append_escaped(std::string& line, std::string_view text) {
  const std::string valid = detail::core::valid_utf8(text);
  for (std::string_view left = valid; !left.empty();) {
    const std::string_view before = left;
    const char32_t code_point = take_code_point(left);
    if (code_point == '"' || code_point == '\\')
      (line += '\\') += static_cast<char>(code_point);
    else if (is_unprintable(code_point) || separates_lines(code_point) || changes_direction(code_point))
      append_escape(line, code_point);
    else
      line += before.substr(0, before.size() - left.size());
  }
}

std::string line_of(const LogRecord& record) {
  std::string line = "agentcore ";
  line.append(to_string(record.level)).append(": ");
  append_escaped(line, record.message);
  for (const LogField& field : record.fields) {
    line += ' ';
    append_escaped(line, field.key);
    line += "=\"";
    append_escaped(line, field.value);
    line += '"';
  }
  line += '\n';
  return line;
}

}  // namespace

LogSink log_to_stderr(LogLevel at_least) {
  return [at_least](const LogRecord& record) {
    if (record.level < at_least) return;
    const std::string line = line_of(record);
    std::fwrite(line.data(), 1, line.size(), stderr);
  };
}

}  // namespace agentcore
