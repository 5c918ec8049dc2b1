#include "platform/pipe.hpp"

#ifndef _WIN32

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace agentcore::detail::platform {

namespace {

constexpr int first_free = 3;  // after standard input, output and error

bool open_ends(int (&ends)[2]) noexcept {
#ifdef __linux__
  return ::pipe2(ends, O_CLOEXEC) == 0;
#else
  if (::pipe(ends) != 0) return false;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
#endif
}

// Moves the descriptor above a program's own three.
bool raise(Descriptor& descriptor) noexcept {
  if (descriptor.get() >= first_free) return true;
  descriptor = Descriptor(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, first_free));
  return static_cast<bool>(descriptor);
}

}  // namespace

bool open_pipe(Pipe& pipe) noexcept {
  int ends[2];
  if (!open_ends(ends)) return false;
  pipe.read_end = Descriptor(ends[0]);
  pipe.write_end = Descriptor(ends[1]);
  return raise(pipe.read_end) && raise(pipe.write_end);
}

void stop_blocking(const Descriptor& descriptor) noexcept {
  ::fcntl(descriptor.get(), F_SETFL, ::fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
#ifdef F_SETNOSIGPIPE
  ::fcntl(descriptor.get(), F_SETNOSIGPIPE, 1);
#endif
}

std::ptrdiff_t read_some(const Descriptor& descriptor, std::span<char> buffer) noexcept {
  return ::read(descriptor.get(), buffer.data(), buffer.size());
}

std::size_t bytes_held(const Descriptor& descriptor) noexcept {
  int held = 0;
  if (::ioctl(descriptor.get(), FIONREAD, &held) != 0) return 0;
  return static_cast<std::size_t>(std::max(held, 0));
}

#ifdef F_SETNOSIGPIPE

std::ptrdiff_t write_quietly(const Descriptor& descriptor, std::string_view bytes) noexcept {
  return ::write(descriptor.get(), bytes.data(), bytes.size());
}

#else

// A write raises SIGPIPE in the thread that writes. So this thread blocks the signal meanwhile, and takes it
// off before it unblocks; a signal that was pending before is not ours to take.
std::ptrdiff_t write_quietly(const Descriptor& descriptor, std::string_view bytes) noexcept {
  sigset_t pipe_only, before, pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  sigemptyset(&pending);
  ::sigpending(&pending);
  const ssize_t count = ::write(descriptor.get(), bytes.data(), bytes.size());
  const int error = errno;
  if (count < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    constexpr timespec at_once{};
    while (::sigtimedwait(&pipe_only, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return count;
}

#endif

}  // namespace agentcore::detail::platform

#endif
