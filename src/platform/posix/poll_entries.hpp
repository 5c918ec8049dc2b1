// poll(2).
#pragma once

#include <span>

#include <poll.h>

namespace agentcore::detail::platform {

using PollEntry = pollfd;

inline PollEntry poll_entry(int descriptor, short events) noexcept {
  return {descriptor, events, 0};
}
inline int descriptor_of(const PollEntry& entry) noexcept {
  return entry.fd;
}

// Waits until an entry is ready, for `milliseconds` at most (-1: without end). Returns how many are ready;
// not more than 0 if the time has passed or a signal came.
inline int wait_for(std::span<PollEntry> entries, int milliseconds) noexcept {
  return ::poll(entries.data(), static_cast<nfds_t>(entries.size()), milliseconds);
}

}  // namespace agentcore::detail::platform
