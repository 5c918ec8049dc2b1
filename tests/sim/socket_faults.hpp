// SocketFaults: which calls of the system for sockets fail: of the console's, of the poller that watches
// them, and of the transport of models over HTTP.
#pragma once

#include "sim/faults.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace agentcore::sim {

// What the command socket_fails lets fail.
enum class SocketFault : std::uint8_t {
  no_descriptor,     // accept: EMFILE
  table_is_full,     // accept: ENFILE
  no_memory,         // accept: ENOMEM
  aborted,           // accept: ECONNABORTED; that client is gone
  read,              // ECONNRESET
  read_interrupted,  // EINTR
  write,             // ENOBUFS
  write_interrupted,
  unwatched,    // the poller refuses a socket: ENOSPC
  no_listener,  // listen: EADDRINUSE
  no_socket,    // a transfer that begins: there is no socket for it
  broken,       // a transfer that goes on: the system does not watch its socket any more
};
constexpr std::array socket_fault_names = {
    std::string_view("no_descriptor"), std::string_view("table_is_full"),
    std::string_view("no_memory"),     std::string_view("aborted"),
    std::string_view("read"),          std::string_view("read_interrupted"),
    std::string_view("write"),         std::string_view("write_interrupted"),
    std::string_view("unwatched"),     std::string_view("no_listener"),
    std::string_view("no_socket"),     std::string_view("broken")};
constexpr std::size_t socket_fault_count = socket_fault_names.size();
static_assert(socket_fault_count == static_cast<std::size_t>(SocketFault::broken) + 1);

class SocketFaults {
 public:
  // One by its number, of all calls: FailedCall::socket, FailedCall::transfer.
  Failing sockets, transfers;
  std::function<void(const std::string&)> note;

  void fail_next(SocketFault fault, std::uint32_t times) { to_fail_[index(fault)] += times; }
  // Faults cease.
  void calm() noexcept { to_fail_ = {}; }

  // Once for each call: the errno of its failure; 0: it does not fail.
  int of_accept();
  int of_read();
  int of_write();
  int of_watch();
  int of_listen();
  // True: it fails.
  bool of_transfer(bool begins);

  // A connection may have been closed to make room for another one.
  bool was_short() const noexcept { return was_short_; }

 private:
  static std::size_t index(SocketFault fault) noexcept { return static_cast<std::size_t>(fault); }
  bool takes(SocketFault fault);
  int failed(SocketFault fault, int error);

  std::array<std::uint32_t, socket_fault_count> to_fail_{};
  bool was_short_ = false;
};

}  // namespace agentcore::sim
