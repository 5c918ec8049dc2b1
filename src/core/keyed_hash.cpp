#include "core/keyed_hash.hpp"

#include <bit>
#include <cstddef>

namespace agentcore::detail::core {
namespace {

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() noexcept {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }

  void take(std::uint64_t word) noexcept {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

// The first bytes of a text as a number, the first byte lowest.
std::uint64_t number_of(std::string_view bytes) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return number;
}

}  // namespace

std::uint64_t sip_hash(std::uint64_t key0, std::uint64_t key1, std::string_view text) noexcept {
  SipState state{key0 ^ 0x736F6D6570736575U, key1 ^ 0x646F72616E646F6DU, key0 ^ 0x6C7967656E657261U,
                 key1 ^ 0x7465646279746573U};
  const std::size_t size = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) state.take(number_of(text.substr(0, 8)));
  state.take(number_of(text) | std::uint64_t{size & 0xFFU} << 56U);
  state.v2 ^= 0xFFU;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

std::uint64_t fingerprint(std::string_view salt, std::string_view text) noexcept {
  const std::uint64_t hash = sip_hash(sip_hash(0, 0, salt), sip_hash(1, 1, salt), text);
  return hash == 0 ? 1 : hash;
}

}  // namespace agentcore::detail::core
