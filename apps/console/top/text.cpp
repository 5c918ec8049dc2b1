#include "console/top/text.hpp"

#include "core/code_points.hpp"

#include <agentcore/display.hpp>

#include <algorithm>
#include <clocale>
#include <cstring>

#include <langinfo.h>
#include <wchar.h>

namespace console_app::top {
namespace {

// Joiners, and selectors of a variant.
bool is_left_out(char32_t code_point) noexcept {
  return (code_point >= 0x200C && code_point <= 0x200D) || (code_point >= 0xFE00 && code_point <= 0xFE0F) ||
         (code_point >= 0xE0100 && code_point <= 0xE01EF);
}

int width_of(char32_t code_point) noexcept {
  return ::wcwidth(static_cast<wchar_t>(code_point));
}

// The columns of one character of printable text, and how many bytes it has.
std::size_t width_of_first(std::string_view text, std::size_t& bytes) noexcept {
  std::string_view rest = text;
  const char32_t code_point = agentcore::detail::core::take_code_point(rest);
  bytes = text.size() - rest.size();
  return static_cast<std::size_t>(std::max(0, width_of(code_point)));
}

// How many bytes of the text fit, with the marks that combine with its last character.
std::size_t bytes_that_fit(std::string_view text, std::size_t width) {
  std::size_t end = 0, used = 0;
  while (end < text.size()) {
    std::size_t bytes = 0;
    used += width_of_first(text.substr(end), bytes);
    if (used > width) break;
    end += bytes;
  }
  return end;
}

// Adds the lines of one line of the text.
void wrap_line(std::vector<std::string>& lines, std::string_view line, std::size_t width) {
  do {
    std::size_t end = bytes_that_fit(line, width);
    if (end == 0 && !line.empty()) width_of_first(line, end);  // wider than all columns
    std::size_t next = end;
    if (end < line.size()) {
      const std::size_t blank = line.rfind(' ', end);
      if (blank != std::string_view::npos && blank > 0 && line.find_first_not_of(' ') < blank) {
        end = blank;
        next = blank + 1;
      }
    }
    lines.emplace_back(line.substr(0, end));
    line.remove_prefix(next);
  } while (!line.empty());
}

}  // namespace

bool use_utf8() {
  const auto is_utf8 = [] { return std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0; };
  if (std::setlocale(LC_CTYPE, "") != nullptr && is_utf8()) return true;
  for (const char* name : {"C.UTF-8", "en_US.UTF-8"})
    if (std::setlocale(LC_CTYPE, name) != nullptr && is_utf8()) return true;
  return false;
}

std::string printable(std::string_view text) {
  const std::string shown = agentcore::display(text);
  std::string line;
  line.reserve(shown.size());
  for (std::string_view left = shown; !left.empty();) {
    const std::string_view before = left;
    const char32_t code_point = agentcore::detail::core::take_code_point(left);
    if (code_point == '\n')
      line += "\\n";
    else if (code_point == '\t')
      line += "\\t";
    else if (is_left_out(code_point))
      continue;
    else if (width_of(code_point) < 0)  // the terminal does not know it
      agentcore::detail::core::append_escape(line, code_point);
    else
      line += before.substr(0, before.size() - left.size());
  }
  return line;
}

std::size_t columns(std::string_view text) {
  std::size_t used = 0;
  while (!text.empty()) {
    std::size_t bytes = 0;
    used += width_of_first(text, bytes);
    text.remove_prefix(bytes);
  }
  return used;
}

std::string cut(std::string_view text, std::size_t width) {
  const std::size_t all = bytes_that_fit(text, width);
  if (all == text.size()) return std::string(text);
  if (width == 0) return {};
  return std::string(text.substr(0, bytes_that_fit(text, width - 1))) + "…";
}

std::string cut_front(std::string_view text, std::size_t width) {
  std::size_t used = columns(text);
  if (used <= width) return std::string(text);
  if (width == 0) return {};
  while (used > width - 1) {
    std::size_t bytes = 0;
    used -= width_of_first(text, bytes);
    text.remove_prefix(bytes);
  }
  return "…" + std::string(text);
}

std::string fit(std::string_view text, std::size_t width) {
  std::string line = cut(text, width);
  return line + std::string(width - std::min(width, columns(line)), ' ');
}

std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t most) {
  std::vector<std::string> lines;
  if (width == 0) return lines;
  while (true) {
    const std::size_t end = text.find('\n');
    std::string line(text.substr(0, end));
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::replace(line.begin(), line.end(), '\t', ' ');
    wrap_line(lines, printable(line), width);
    if (end == std::string_view::npos || end + 1 == text.size()) break;
    text.remove_prefix(end + 1);
  }
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  return lines;
}

}  // namespace console_app::top
