// The guess of what a text costs.
#include <agentcore/context.hpp>

#include <algorithm>

namespace agentcore {

std::size_t estimate_tokens(std::string_view text) noexcept {
  // Every byte begins a code point but those of the form 10xxxxxx.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto code_points = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
  return (2 * code_points + 4) / 5;
}

}  // namespace agentcore
