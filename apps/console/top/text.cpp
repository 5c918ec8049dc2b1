#include "console/top/text.hpp"

#include <algorithm>
#include <array>
#include <clocale>
#include <cstring>

#include <fmt/format.h>
#include <langinfo.h>
#include <wchar.h>

namespace console_app::top {
namespace {

struct CodePoints {
  char32_t first;
  char32_t last;
};

// What a person does not see, or what changes how other text is shown.
constexpr std::array never_shown{
    CodePoints{0x80, 0x9F},       CodePoints{0xAD, 0xAD},      CodePoints{0x61C, 0x61C},
    CodePoints{0x180E, 0x180E},   CodePoints{0x200B, 0x200B},  CodePoints{0x200E, 0x200F},
    CodePoints{0x2028, 0x202E},   CodePoints{0x2060, 0x206F},  CodePoints{0xD800, 0xDFFF},
    CodePoints{0xFEFF, 0xFEFF},   CodePoints{0xFFF9, 0xFFFB},  CodePoints{0xFFFE, 0xFFFF},
    CodePoints{0xE0000, 0xE00FF}, CodePoints{0xE01F0, 0xE0FFF}};
// Joiners, and selectors of a variant.
constexpr std::array left_out{CodePoints{0x200C, 0x200D}, CodePoints{0xFE00, 0xFE0F},
                              CodePoints{0xE0100, 0xE01EF}};

template <std::size_t N>
bool is_one_of(const std::array<CodePoints, N>& ranges, char32_t code_point) noexcept {
  return std::any_of(ranges.begin(), ranges.end(), [&](const CodePoints& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

struct Character {
  char32_t code_point;
  std::size_t bytes;
  bool valid;
};

// The first character of a text that is not empty. Overlong forms and incomplete ones are not valid.
Character first_of(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  const Character wrong{lead, 1, false};
  if (lead < 0xC2 || lead > 0xF4 || bytes > text.size()) return wrong;
  char32_t code_point = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return wrong;
    code_point = code_point << 6 | (byte & 0x3FU);
  }
  constexpr char32_t smallest[] = {0x80, 0x800, 0x10000};
  if (code_point < smallest[bytes - 2] || code_point > 0x10FFFF) return wrong;
  return {code_point, bytes, true};
}

int width_of(char32_t code_point) noexcept {
  return ::wcwidth(static_cast<wchar_t>(code_point));
}

std::string shown(const Character& character, std::string_view bytes) {
  const auto code_point = static_cast<unsigned>(character.code_point);
  if (code_point == '\n') return "\\n";
  if (code_point == '\t') return "\\t";
  if (code_point == '\r') return "\\r";
  if (code_point < 0x20 || code_point == 0x7F || !character.valid)
    return fmt::format("\\x{:02x}", code_point);
  if (is_one_of(left_out, character.code_point)) return {};
  if (is_one_of(never_shown, character.code_point) || width_of(character.code_point) < 0)
    return fmt::format("\\u{{{:x}}}", code_point);
  return std::string(bytes.substr(0, character.bytes));
}

// The columns of one character of printable text, and how many bytes it has.
std::size_t width_of_first(std::string_view text, std::size_t& bytes) noexcept {
  const Character character = first_of(text);
  bytes = character.bytes;
  return static_cast<std::size_t>(std::max(0, width_of(character.code_point)));
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
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_of(text);
    safe += shown(character, text);
    text.remove_prefix(character.bytes);
  }
  return safe;
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
