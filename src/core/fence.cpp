#include "core/fence.hpp"

#include <algorithm>
#include <cstddef>

namespace agentcore::detail::core {
namespace {

constexpr std::string_view fence = "```";

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// For ASCII only.
bool is_json_tag(std::string_view word) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return word.empty() || std::ranges::equal(word, std::string_view("json"), {}, lower);
}

}  // namespace

std::string_view without_fence(std::string_view text) noexcept {
  const std::string_view whole = trimmed(text);
  if (!whole.starts_with(fence) || !whole.ends_with(fence)) return text;
  const std::size_t line = whole.find('\n');
  if (line == whole.npos || line + fence.size() > whole.size()) return text;
  if (!is_json_tag(trimmed(whole.substr(fence.size(), line - fence.size())))) return text;
  const std::string_view content = whole.substr(line + 1, whole.size() - fence.size() - line - 1);
  // The last fence stands alone in its line.
  const std::size_t before = content.find_last_not_of(" \t");
  if (before == content.npos || content[before] != '\n') return text;
  return trimmed(content);
}

}  // namespace agentcore::detail::core
