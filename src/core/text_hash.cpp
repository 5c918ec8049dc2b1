#include "core/text_hash.hpp"

#include <random>

namespace agentcore::detail::core {

std::string hex_digits(std::uint64_t number) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4U)
    *digit = "0123456789abcdef"[number & 15U];
  return text;
}

std::string random_digits() {
  std::random_device device;
  std::string text;
  for (int i = 0; i < 2; ++i) text += hex_digits(std::uint64_t{device()} << 32U | device());
  return text;
}

std::string hashed_name(std::string_view prefix, std::string_view text) {
  return std::string(prefix) += hex_digits(text_hash(text));
}

}  // namespace agentcore::detail::core
