// A keyed hash: who does not know the key can neither compute it nor find a text for it.
#pragma once

#include "core/internal_api.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace agentcore::detail::core {

// SipHash-2-4 with a key of 128 bits.
AGENTCORE_INTERNAL_API std::uint64_t sip_hash(std::uint64_t key0, std::uint64_t key1,
                                              std::string_view text) noexcept;

// A number that tells texts apart, with a key that is made of `salt`. Never 0.
AGENTCORE_INTERNAL_API std::uint64_t fingerprint(std::string_view salt, std::string_view text) noexcept;

// 16 hexadecimal digits.
AGENTCORE_INTERNAL_API std::string hex_digits(std::uint64_t number);

}  // namespace agentcore::detail::core
