#include "core/wipe.hpp"

namespace agentcore::detail::core {

void wipe(char* bytes, std::size_t size) noexcept {
  volatile char* at = bytes;
  for (; size > 0; --size) *at++ = 0;
}

void wipe(std::string& text) noexcept {
  text.resize(text.capacity());  // within the capacity, so nothing is reallocated
  wipe(text.data(), text.size());
  text.clear();
}

}  // namespace agentcore::detail::core
