#include "core/text_hash.hpp"

namespace agentcore::detail::core {

std::string hashed_name(std::string_view prefix, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  const std::uint64_t hash = text_hash(text);
  std::string name(prefix);
  for (int shift = 60; shift >= 0; shift -= 4) name += digits[(hash >> shift) & 0xFU];
  return name;
}

}  // namespace agentcore::detail::core
