// A keyed hash: without the key, neither a hash nor a text for a given hash can be computed.
#pragma once

#include "core/internal_api.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace agentcore::detail::core {

// SipHash-2-4 with a key of 128 bits.
AGENTCORE_INTERNAL_API std::uint64_t sip_hash(std::uint64_t key0, std::uint64_t key1,
                                              std::string_view text) noexcept;

// The hash of a text with a key that is made of `salt`; equal texts have equal hashes. Never 0.
AGENTCORE_INTERNAL_API std::uint64_t fingerprint(std::string_view salt, std::string_view text) noexcept;

}  // namespace agentcore::detail::core
