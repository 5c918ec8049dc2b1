#include "sim/socket_faults.hpp"

#include <cerrno>
#include <utility>

namespace agentcore::sim {

bool SocketFaults::takes(SocketFault fault) {
  std::uint32_t& left = to_fail_[index(fault)];
  if (left == 0) return false;
  --left;
  return true;
}

int SocketFaults::failed(SocketFault fault, int error) {
  if (note) note("a call for a socket fails: " + std::string(socket_fault_names[index(fault)]));
  was_short_ = was_short_ || fault <= SocketFault::no_memory;
  return error;
}

int SocketFaults::of_accept() {
  constexpr std::array<std::pair<SocketFault, int>, 4> kinds = {{{SocketFault::no_descriptor, EMFILE},
                                                                 {SocketFault::table_is_full, ENFILE},
                                                                 {SocketFault::no_memory, ENOMEM},
                                                                 {SocketFault::aborted, ECONNABORTED}}};
  if (sockets.next()) {
    const auto& [fault, error] = kinds[sockets.seen() % kinds.size()];
    return failed(fault, error);
  }
  for (const auto& [fault, error] : kinds)
    if (takes(fault)) return failed(fault, error);
  return 0;
}

int SocketFaults::of_read() {
  const bool by_number = sockets.next();
  if (by_number ? sockets.seen() % 2 == 0 : takes(SocketFault::read_interrupted))
    return failed(SocketFault::read_interrupted, EINTR);
  return by_number || takes(SocketFault::read) ? failed(SocketFault::read, ECONNRESET) : 0;
}

int SocketFaults::of_write() {
  const bool by_number = sockets.next();
  if (by_number ? sockets.seen() % 2 == 0 : takes(SocketFault::write_interrupted))
    return failed(SocketFault::write_interrupted, EINTR);
  return by_number || takes(SocketFault::write) ? failed(SocketFault::write, ENOBUFS) : 0;
}

int SocketFaults::of_watch() {
  return sockets.next() || takes(SocketFault::unwatched) ? failed(SocketFault::unwatched, ENOSPC) : 0;
}

int SocketFaults::of_listen() {
  return sockets.next() || takes(SocketFault::no_listener) ? failed(SocketFault::no_listener, EADDRINUSE) : 0;
}

bool SocketFaults::of_transfer(bool begins) {
  const SocketFault fault = begins ? SocketFault::no_socket : SocketFault::broken;
  return (transfers.next() || takes(fault)) && failed(fault, 1) != 0;
}

}  // namespace agentcore::sim
