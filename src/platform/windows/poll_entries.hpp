// WSAPoll(): sockets alone.
#pragma once

#include "platform/windows/winsock.hpp"

#include <span>

namespace agentcore::detail::platform {

using PollEntry = WSAPOLLFD;

inline PollEntry poll_entry(int descriptor, short events) noexcept {
  return {to_socket(descriptor), events, 0};
}
inline int descriptor_of(const PollEntry& entry) noexcept {
  return to_descriptor(entry.fd);
}

// As on other systems. WSAPoll() refuses to wait for nothing.
inline int wait_for(std::span<PollEntry> entries, int milliseconds) noexcept {
  if (!entries.empty()) return ::WSAPoll(entries.data(), static_cast<ULONG>(entries.size()), milliseconds);
  ::Sleep(milliseconds < 0 ? INFINITE : static_cast<DWORD>(milliseconds));
  return 0;
}

}  // namespace agentcore::detail::platform
