#include "safe_text.hpp"

#include "core/code_points.hpp"
#include "core/utf8.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace store_tool {
namespace {

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
    std::string_view rest = sequence;
    const char32_t code_point = agentcore::detail::core::take_code_point(rest);
    if (agentcore::detail::core::is_unsafe_to_show(code_point))
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
