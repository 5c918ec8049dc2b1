// ConnectionPools: the connection pools of a transport.
#pragma once

#include "net/connection_pool.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace agentcore::detail::net {

// There are several because libcurl takes time linear in the connections of one multi handle: up to 8.9 the
// removal of a transfer goes through a list of all connections to its server, and every event is looked up in
// a hash table of 911 lists. With 10,000 streams in one handle a removal took half a millisecond, in which
// the loop did nothing else. A pool takes 40 to 100 KB, two descriptors, and with TLS a copy of the parsed
// certificates, so it is not small.
//
// All functions are @loop_thread.
class ConnectionPools {
 public:
  static constexpr std::size_t usual_size = 1000;

  // `size`: how many transfers a pool has at most, unless there is no memory for another pool.
  ConnectionPools(loop::Engine& engine, SocketTable& sockets, std::size_t max_idle, std::size_t size);
  ConnectionPools(const ConnectionPools&) = delete;
  ConnectionPools& operator=(const ConnectionPools&) = delete;

  // The pool for the next transfer: one with room that keeps a connection which no other transfer expects to
  // get, to whichever server, or else the first one with room.
  ConnectionPool& choose() noexcept;
  // The pool of a descriptor that libcurl uses.
  ConnectionPool& of(int descriptor) noexcept { return *pools_[sockets_.pool_of(descriptor)]; }

  // After each call into libcurl: retires the connections that are idle in excess, of all pools together.
  void settle();
  // See ConnectionPool::is_due().
  bool is_any_due() const noexcept;
  // Closes the multi handles of empty pools, but not the first one. To be called when a transfer has left its
  // pool. An empty pool stays open while the one before it is more than half full: calls that do not fit into
  // that one would open and close it again and again.
  void close_unneeded();

  // Closes all multi handles, and with them all kept connections. No pool may have a transfer any more.
  void drop();
  // The engine is destroyed, or about to be: the pools make no further call to it.
  void abandon_engine() noexcept;

  // Calls visit(pool) for each; it must not add a pool.
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (const auto& pool : pools_) visit(*pool);
  }

 private:
  void add();

  loop::Engine& engine_;
  SocketTable& sockets_;
  const std::size_t max_idle_;
  const std::size_t size_;
  std::vector<std::unique_ptr<ConnectionPool>> pools_;  // by their number in the table of sockets
};

}  // namespace agentcore::detail::net
