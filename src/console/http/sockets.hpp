// Sockets: what the console asks of the system's TCP sockets.
#pragma once

#include <agentcore/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <sys/types.h>

namespace agentcore::detail::loop {
class Engine;
}

namespace agentcore::detail::console {

// Non-blocking sockets, by their descriptors. The functions are those of the system of the same name: -1 is a
// failure, and errno has the reason. All @loop_thread
class Sockets {
 public:
  virtual ~Sockets() = default;

  // Those of the system, or the installed ones.
  static std::shared_ptr<Sockets> of(loop::Engine& engine);
  // For tests: those of the system.
  static std::shared_ptr<Sockets> of_system();
  // For tests: of() returns `sockets` from now on. Called before the first of(); the engine holds them until
  // it is closed.
  static void install(loop::Engine& engine, std::shared_ptr<Sockets> sockets);

  // A socket that listens. `address`: a number of IPv4 or IPv6. `port`: 0: any that is free. Errors:
  // `invalid_config` (the address), `network_error` (the system refuses it).
  virtual Result<int> listen(const std::string& address, std::uint16_t port) = 0;
  virtual std::uint16_t port_of(int socket) = 0;  // 0: not known
  // A new connection: its small writes are sent at once, and the system keeps little of what a client does
  // not read.
  virtual int accept(int listener) = 0;
  // The address of the other end, for the log: "127.0.0.1".
  virtual std::string peer_of(int socket) = 0;
  virtual ssize_t recv(int socket, char* into, std::size_t size) = 0;
  virtual ssize_t send(int socket, const char* bytes, std::size_t size) = 0;
  // Nothing more is sent.
  virtual void shutdown(int socket) = 0;
  virtual void close(int socket) = 0;
  // The same socket with the smallest descriptor that is free, if that is smaller.
  virtual int moved_down(int socket) = 0;
  // How many descriptors the process may have. 0: not known.
  virtual std::size_t descriptor_limit() = 0;
};

}  // namespace agentcore::detail::console
