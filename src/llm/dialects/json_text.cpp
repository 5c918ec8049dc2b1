#include "llm/dialects/json_text.hpp"

#include "core/utf8.hpp"

#include <charconv>
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

// The code unit of the \uXXXX at the beginning of `token`.
std::optional<char32_t> unit_at(std::string_view token) noexcept {
  if (token.size() < 6 || !token.starts_with("\\u")) return std::nullopt;
  std::uint32_t unit = 0;
  const auto [end, error] = std::from_chars(token.data() + 2, token.data() + 6, unit, 16);
  if (error != std::errc{} || end != token.data() + 6) return std::nullopt;
  return unit;
}

// Removes \uXXXX, or a pair of them, from the beginning of `token`.
bool take_unicode(std::string_view& token, std::string& text) {
  const auto high = unit_at(token);
  if (!high) return false;
  token.remove_prefix(6);
  const auto low = *high >= 0xD800 && *high < 0xDC00 ? unit_at(token) : std::nullopt;
  if (low && *low >= 0xDC00 && *low < 0xE000) {
    token.remove_prefix(6);
    core::append_utf8(text, 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
  } else {
    core::append_utf8(text, *high);
  }
  return true;
}

bool take_escape(std::string_view& token, std::string& text) {
  constexpr std::string_view letter_table = "\"\\/bfnrt";
  constexpr std::string_view status_meanings = "\"\\/\b\f\n\r\t";
  if (token.size() < 2) return false;
  if (token[1] == 'u') return take_unicode(token, text);
  const auto letter = letter_table.find(token[1]);
  if (letter == std::string_view::npos) return false;
  text.push_back(status_meanings[letter]);
  token.remove_prefix(2);
  return true;
}

}  // namespace

bool unescape_json(std::string_view token, std::string& text) {
  text.clear();
  if (!token.starts_with('"')) return false;
  token.remove_prefix(1);
  for (;;) {
    const auto plain = token.find_first_of("\"\\");
    if (plain == std::string_view::npos) return false;
    text.append(token.substr(0, plain));
    token.remove_prefix(plain);
    if (token.front() == '"') return true;
    if (!take_escape(token, text)) return false;
  }
}

bool is_json_object(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' && nlohmann::json::accept(text);
}

}  // namespace agentcore::detail::llm
