#include "context/cut.hpp"

#include "context/token_count.hpp"
#include "core/utf8.hpp"

#include <algorithm>

namespace agentcore::detail::context {
namespace {

// The first byte of a character, at `at` or behind it.
std::size_t next_character(std::string_view text, std::size_t at) noexcept {
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) ++at;
  return at;
}

// Leaves `kept` bytes: half of them at the beginning, half at the end.
Cut middle(std::string_view text, std::size_t kept) noexcept {
  const std::size_t begin = core::first_bytes(text, kept - kept / 2).size();
  return {begin, std::max(begin, next_character(text, text.size() - kept / 2))};
}

}  // namespace

std::optional<Cut> middle_of(std::string_view text, std::size_t limit, const TokenCounter& count) {
  const std::size_t whole = text_tokens(text, count);
  std::size_t tokens = whole;
  std::size_t kept = text.size();
  Cut cut;
  while (tokens > limit && kept != 0) {
    // Texts differ in tokens per byte, so a first guess may be too long: each is shorter than the one before.
    const double share = static_cast<double>(limit) / static_cast<double>(tokens);
    kept = std::min(kept - kept / 16 - 1, static_cast<std::size_t>(static_cast<double>(kept) * share));
    cut = middle(text, kept);
    tokens = text_tokens(without(text, cut), count);
  }
  if (cut.begin == cut.end || tokens >= whole) return std::nullopt;
  return cut;
}

std::string without(std::string_view text, const Cut& cut) {
  std::string left(text.substr(0, cut.begin));
  left.append("\n[... ").append(std::to_string(cut.end - cut.begin));
  left.append(" bytes left out of the middle ...]\n").append(text.substr(cut.end));
  return left;
}

}  // namespace agentcore::detail::context
