#include "platform/await_readable.hpp"

#include "platform/poll_entries.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace agentcore::detail::platform {

void await_readable(int descriptor, Duration at_most) noexcept {
  constexpr std::chrono::milliseconds longest = std::chrono::hours(1);
  const auto wait = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(at_most),
                               std::chrono::milliseconds(0), longest);
  PollEntry entry = poll_entry(descriptor, POLLIN);
  wait_for(std::span(&entry, std::size_t{descriptor < 0 ? 0U : 1U}), static_cast<int>(wait.count()));
}

}  // namespace agentcore::detail::platform
