// A hash of texts that is the same in every run and on every machine.
#pragma once

#include "core/internal_api.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace agentcore::detail::core {

// FNV-1a.
constexpr std::uint64_t text_hash(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

// 16 hexadecimal digits.
AGENTCORE_INTERNAL_API std::string hex_digits(std::uint64_t number);

// 32 hexadecimal digits that no other process has. Not of Runtime::random(): a host may give it the same seed
// each time.
AGENTCORE_INTERNAL_API std::string random_digits();

// `prefix` and the hash of `text`, as 16 hexadecimal digits.
std::string hashed_name(std::string_view prefix, std::string_view text);

}  // namespace agentcore::detail::core
