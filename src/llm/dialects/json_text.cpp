#include "llm/dialects/json_text.hpp"

#include "core/utf8.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

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

// Where the closing quote is; npos: there is none.
std::size_t end_of(std::string_view token) noexcept {
  std::size_t at = 0;
  for (; at < token.size() && token[at] != '"'; ++at)
    if (token[at] == '\\') ++at;
  return at < token.size() ? at : std::string_view::npos;
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

bool is_high(char32_t unit) noexcept {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_low(char32_t unit) noexcept {
  return unit >= 0xDC00 && unit < 0xE000;
}

// From behind the opening quote to the closing one.
bool unescape_rest(std::string_view token, std::string& text) {
  for (;;) {
    const auto plain = token.find_first_of("\"\\");
    if (plain == std::string_view::npos) return false;
    text.append(token.substr(0, plain));
    token.remove_prefix(plain);
    if (token.front() == '"') return true;
    if (!take_escape(token, text)) return false;
  }
}

// The first half of a pair right before the closing quote, with the token up to it; 0 without one.
std::uint16_t high_at_end(std::string_view token) noexcept {
  constexpr std::size_t size = 6;  // of \uXXXX
  const auto quote = end_of(token);
  if (quote < size || token[quote - size] != '\\') return 0;
  const auto unit = unit_at(token.substr(quote - size, size));
  if (!unit || !is_high(*unit)) return 0;
  std::size_t slashes = 0;  // before it: an odd number escapes its own
  while (slashes < quote - size && token[quote - size - 1 - slashes] == '\\') ++slashes;
  return slashes % 2 == 0 ? static_cast<std::uint16_t>(*unit) : std::uint16_t{0};
}

}  // namespace

bool unescape_json(std::string_view token, std::string& text) {
  text.clear();
  if (!token.starts_with('"')) return false;
  return unescape_rest(token.substr(1), text);
}

bool unescape_json_piece(std::string_view token, std::string& text, CutPair& cut) {
  text.clear();
  cut = {};
  if (!token.starts_with('"')) return false;
  token.remove_prefix(1);
  if (const auto unit = unit_at(token); unit && is_low(*unit)) {
    cut.low = static_cast<std::uint16_t>(*unit);
    token.remove_prefix(6);
  }
  if (!unescape_rest(token, text)) return false;
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  if (!text.ends_with(replacement)) return true;
  cut.high = high_at_end(token);
  if (cut.high != 0) text.resize(text.size() - replacement.size());
  return true;
}

void append_pair(std::string& text, std::uint16_t high, std::uint16_t low) {
  if (high != 0 && low != 0) {
    core::append_utf8(text, 0x10000 + ((char32_t{high} - 0xD800) << 10U) + (char32_t{low} - 0xDC00));
  } else {
    if (high != 0) core::append_utf8(text, high);
    if (low != 0) core::append_utf8(text, low);
  }
}

void append_piece(std::string& all, CutPair& all_cut, std::string_view piece, CutPair cut) {
  if (all.empty() && !all_cut)
    all_cut.low = cut.low;
  else
    append_pair(all, std::exchange(all_cut.high, std::uint16_t{0}), cut.low);
  all += piece;
  all_cut.high = cut.high;
}

void end_pieces(std::string& all, CutPair& all_cut) {
  std::string first;
  append_pair(first, 0, all_cut.low);
  all.insert(0, first);
  append_pair(all, all_cut.high, 0);
  all_cut = {};
}

bool is_json_object(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' && nlohmann::json::accept(text);
}

}  // namespace agentcore::detail::llm
