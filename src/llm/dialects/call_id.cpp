#include "llm/dialects/call_id.hpp"

#include "core/text_hash.hpp"

#include <cstdint>

namespace agentcore::detail::llm {
namespace {

constexpr std::string_view letters_and_digits =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

// Ten characters use all bits of the hash.
std::string letters_of(std::uint64_t hash, std::size_t count) {
  std::string text;
  for (; text.size() < count; hash /= letters_and_digits.size())
    text += letters_and_digits[hash % letters_and_digits.size()];
  return text;
}

}  // namespace

std::string call_id(std::string_view id, std::size_t exact, std::size_t most) {
  constexpr std::size_t made = 10;
  if (exact == 0)
    return id.size() <= most ? std::string(id) : "call_" + letters_of(core::text_hash(id), made);
  const bool fits = id.size() == exact && id.find_first_not_of(letters_and_digits) == std::string_view::npos;
  return fits ? std::string(id) : letters_of(core::text_hash(id), exact);
}

}  // namespace agentcore::detail::llm
