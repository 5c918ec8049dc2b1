#include "llm/dialects/call_id.hpp"

#include <cstdint>

namespace agentcore::detail::llm {
namespace {

constexpr std::string_view letters_and_digits =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

// FNV-1a. A history has few ids; the hash must only be the same on every machine.
std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

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
  if (exact == 0) return id.size() <= most ? std::string(id) : "call_" + letters_of(hash_of(id), made);
  const bool fits = id.size() == exact && id.find_first_not_of(letters_and_digits) == std::string_view::npos;
  return fits ? std::string(id) : letters_of(hash_of(id), exact);
}

}  // namespace agentcore::detail::llm
