#include "loop/await_readable.hpp"

#include <algorithm>

#include <poll.h>

namespace agentcore::detail::loop {

void await_readable(int descriptor, Duration at_most) noexcept {
  constexpr std::chrono::milliseconds longest = std::chrono::hours(1);
  const auto wait = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(at_most),
                               std::chrono::milliseconds(0), longest);
  pollfd entry{descriptor, POLLIN, 0};
  ::poll(&entry, 1, static_cast<int>(wait.count()));
}

}  // namespace agentcore::detail::loop
