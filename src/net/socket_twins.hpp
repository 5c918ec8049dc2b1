// SocketTwins: second descriptors of the sockets that libcurl is connecting.
#pragma once

#include <cstddef>
#include <vector>

namespace agentcore::detail::net {

// A twin is a second descriptor of an open socket. Only this class closes it, so it can be shut down at any
// time, also if the socket's own descriptor is closed and its number is in use again. The connection stays
// open until both descriptors are closed. @loop_thread
class SocketTwins {
 public:
  SocketTwins() = default;
  SocketTwins(const SocketTwins&) = delete;
  SocketTwins& operator=(const SocketTwins&) = delete;
  ~SocketTwins();

  // Makes the twin of `socket`. False, with errno, when the system has no descriptor left.
  [[nodiscard]] bool add(int socket);
  // Closes the twin of `socket`, if it has one.
  void remove(int socket);

  bool has(int socket) const noexcept { return twin_of(socket) != socket; }
  // True if `socket` has a twin and is not a descriptor of the same socket any more.
  bool is_closed(int socket) const noexcept;

  // The twin; `socket` itself if it has none.
  int twin_of(int socket) const noexcept;
  // The socket of a twin; `descriptor` itself if it is none.
  int socket_of(int descriptor) const noexcept;

 private:
  struct Pair {
    int twin = -1;    // of the socket with this number
    int socket = -1;  // of the twin with this number
  };

  Pair& at(int descriptor);
  Pair get(int descriptor) const noexcept;

  std::vector<Pair> pairs_;  // by descriptor
};

}  // namespace agentcore::detail::net
