#include "core/code_points.hpp"
#include "core/utf8.hpp"

#include <agentcore/display.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <new>

namespace agentcore {
namespace detail::core {
namespace {

struct CodePoints {
  char32_t first, last;
};

constexpr std::array unsafe{
    CodePoints{0, 0x1F},        CodePoints{0x7F, 0x9F},       CodePoints{0xAD, 0xAD},
    CodePoints{0x61C, 0x61C},   CodePoints{0x180E, 0x180E},   CodePoints{0x200B, 0x200B},
    CodePoints{0x200E, 0x200F}, CodePoints{0x2028, 0x202E},   CodePoints{0x2060, 0x2064},
    CodePoints{0x2066, 0x206F}, CodePoints{0xFEFF, 0xFEFF},   CodePoints{0xFFF9, 0xFFFB},
    CodePoints{0xFFFE, 0xFFFF}, CodePoints{0xE0000, 0xE00FF}, CodePoints{0xE01F0, 0xE0FFF}};

}  // namespace

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

bool is_unsafe_to_show(char32_t code_point) noexcept {
  return std::ranges::any_of(
      unsafe, [&](const CodePoints& range) { return code_point >= range.first && code_point <= range.last; });
}

void append_escape(std::string& to, char32_t code_point) {
  std::array<char, 16> escape{};
  std::snprintf(escape.data(), escape.size(), code_point < 0x10000 ? "\\u%04x" : "\\U%08x",
                static_cast<unsigned>(code_point));
  to += escape.data();
}

}  // namespace detail::core

std::string display(std::string_view text) {
  using namespace detail::core;
  const std::string valid = valid_utf8(text);
  std::string shown;
  shown.reserve(valid.size());
  for (std::string_view left = valid; !left.empty();) {
    const std::string_view before = left;
    const char32_t code_point = take_code_point(left);
    if (code_point == '\r' && left.starts_with('\n')) continue;
    if (is_unsafe_to_show(code_point) && code_point != '\n' && code_point != '\t')
      append_escape(shown, code_point);
    else
      shown += before.substr(0, before.size() - left.size());
  }
  return shown;
}

void detail::core::make_displayable(std::string& text) noexcept {
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; };
  if (std::ranges::all_of(text, is_plain)) return;
  try {
    text = display(text);
  } catch (const std::bad_alloc&) {
    text.clear();
  }
}

}  // namespace agentcore
