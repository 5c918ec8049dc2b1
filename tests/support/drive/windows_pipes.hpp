// The pipes of tests on Windows, which can wait for sockets alone: pairs of connected sockets.
#pragma once

#include "platform/windows/winsock.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>

namespace loop_test {

// True when WSAPoll() reports `descriptor` as readable now.
inline bool readable(int descriptor) {
  WSAPOLLFD entry{agentcore::detail::platform::to_socket(descriptor), POLLIN, 0};
  return ::WSAPoll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

// Blocks until `descriptor` is readable.
inline void wait_readable(int descriptor) {
  WSAPOLLFD entry{agentcore::detail::platform::to_socket(descriptor), POLLIN, 0};
  while (::WSAPoll(&entry, 1, -1) == 0) {
  }
}

class Sockets {
 public:
  Sockets() {
    WSADATA ignored{};
    ::WSAStartup(MAKEWORD(2, 2), &ignored);
  }
  ~Sockets() { ::WSACleanup(); }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;
};

// The handles that are sockets. They are small multiples of four.
inline std::ptrdiff_t open_descriptors() {
  const Sockets sockets;
  std::ptrdiff_t count = 0;
  for (SOCKET handle = 4; handle < 4096; handle += 4) {
    int type = 0, size = sizeof type;
    if (::getsockopt(handle, SOL_SOCKET, SO_TYPE, reinterpret_cast<char*>(&type), &size) == 0) ++count;
  }
  return count;
}

class Pipe {
 public:
  Pipe() { connect_ends(); }
  ~Pipe() {
    for (const SOCKET end : ends_)
      if (end != INVALID_SOCKET) ::closesocket(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return agentcore::detail::platform::to_descriptor(ends_[0]); }
  int write_end() const { return agentcore::detail::platform::to_descriptor(ends_[1]); }
  // Returns when the byte can be read.
  bool write() const {
    if (::send(ends_[1], "x", 1, 0) != 1) return false;
    wait_readable(read_end());
    return true;
  }
  bool read() const {
    char byte = 0;
    return ::recv(ends_[0], &byte, 1, 0) == 1;
  }
  void close_write_end() {
    ::closesocket(ends_[1]);
    ends_[1] = INVALID_SOCKET;
    wait_readable(read_end());
  }

 private:
  void connect_ends() {
    const SOCKET listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    int size = sizeof own;
    ::bind(listener, address, size);
    ::listen(listener, 1);
    ::getsockname(listener, address, &size);
    ends_[1] = ::socket(AF_INET, SOCK_STREAM, 0);
    ::connect(ends_[1], address, size);
    ends_[0] = ::accept(listener, nullptr, nullptr);
    ::closesocket(listener);
    if (ends_[0] == INVALID_SOCKET) throw std::runtime_error("no pair of sockets");
  }

  Sockets sockets_;
  std::array<SOCKET, 2> ends_{INVALID_SOCKET, INVALID_SOCKET};
};

}  // namespace loop_test
