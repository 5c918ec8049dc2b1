#include "platform/wake_signal.hpp"

#ifndef _WIN32

#include <cstdint>

#include <fcntl.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/eventfd.h>
#endif

namespace agentcore::detail::platform {

bool WakeSignal::open() noexcept {
#ifdef __linux__
  read_end_ = write_end_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return read_end_ >= 0;
#else
  int ends[2];
  if (::pipe(ends) != 0) return false;
  for (const int end : ends) {
    ::fcntl(end, F_SETFL, O_NONBLOCK);
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  read_end_ = ends[0];
  write_end_ = ends[1];
  return true;
#endif
}

void WakeSignal::close() noexcept {
  if (write_end_ >= 0 && write_end_ != read_end_) ::close(write_end_);
  if (read_end_ >= 0) ::close(read_end_);
  read_end_ = write_end_ = -1;
}

void WakeSignal::set() noexcept {
  if (home_.is_left()) return;
  const std::uint64_t one = 1;
  // Cannot fail but for a full counter or pipe, and then it is readable as it should be.
  [[maybe_unused]] const auto count = ::write(write_end_, &one, sizeof one);
}

void WakeSignal::clear() noexcept {
  std::uint64_t sink[8];
  while (::read(read_end_, sink, sizeof sink) == static_cast<ssize_t>(sizeof sink)) {
  }
}

}  // namespace agentcore::detail::platform

#endif
