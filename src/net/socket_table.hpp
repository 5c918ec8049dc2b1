// SocketTable: the descriptors that libcurl uses now, the events that it waits for on each, and the transfer
// that each one serves.
#pragma once

#include "loop/loop_wait.hpp"
#include "net/socket_counts.hpp"
#include "net/socket_twins.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace agentcore::detail::loop {
class Engine;
}

namespace agentcore::detail::net {

class CallHandle;
class SocketGuard;

// The objects that will process the next piece of an answer. They are prefetched into the cache and never
// read through these pointers: with thousands of streams, the objects of a stream have left the cache since
// its last piece, and the system call that returns the next event takes long enough to fetch them.
struct PrefetchHint {
  const void* transfer = nullptr;
  const void* handler = nullptr;
};

// Keeps the rules R1 and R2 of SocketGuard: a socket is claimed for at most one transfer, and released before
// it is closed, pooled, or claimed for another. Sockets that open() made are guarded; other descriptors
// (libcurl's resolver has its own) are only watched. All functions are @loop_thread.
//
// Where the calls come from (read in libcurl 7.88, and no later version may do less): the socket callback
// names a transfer's socket right after every step of that transfer (multi.c: singlesocket() follows
// multi_runsingle()), so a socket that went back to the pool is released before any other transfer takes its
// next step.
//
// Until a connection is made, libcurl closes its socket without a call of close() if it gives it up (7.88:
// cf_socket_close()). The number may then belong to any part of the process. So until connected() the guard
// claims a second descriptor of the socket (SocketTwins), which libcurl does not know.
class SocketTable {
 public:
  SocketTable(loop::Engine& engine, loop::IoHandler& handler) : engine_(engine), handler_(handler) {}
  ~SocketTable();

  // A new socket of that pool for libcurl to connect, -1 and errno on failure. Not inherited by child
  // processes.
  int open(std::size_t pool, int family, int type, int protocol);
  // Releases and closes a socket made by open().
  void close(int descriptor);

  // libcurl, in that pool, waits for `events` on behalf of `owner`'s transfer (null: of no single transfer).
  // False when the system refuses to watch the descriptor: the transfer would wait for ever.
  [[nodiscard]] bool want(std::size_t pool, int descriptor, loop::IoEvents events,
                          const std::shared_ptr<CallHandle>& owner, PrefetchHint hint = {});
  // libcurl does not wait any more: the connection is kept for later transfers, or about to be closed, or its
  // socket was closed before it was connected.
  void unwant(int descriptor);

  // The connection of `guard`'s transfer is made: from now on libcurl closes its socket by close() only.
  // `shared`: several transfers use it at a time, or may.
  void connected(SocketGuard& guard, bool shared);
  // The socket serves `owner`'s transfer alone. Does nothing if libcurl does not wait for it now: libcurl
  // reports when the transfer is done with the socket only after a want().
  void claim(int descriptor, const std::shared_ptr<CallHandle>& owner, PrefetchHint hint);

  // Ends the connections of a transfer that ended early: shuts down the sockets in its guard and stops
  // watching them.
  void hang_up(SocketGuard& guard);

  // Prefetches the objects that an event of this descriptor uses.
  void prefetch(int descriptor) const noexcept;
  // True when the transfer of this descriptor has ended or was cut, so that the event must not reach libcurl.
  // Then the descriptor is no longer watched.
  bool unwatch_if_over(int descriptor);

  // The pool that libcurl uses a descriptor in.
  std::size_t pool_of(int descriptor) { return at(descriptor).pool; }
  // The connections that open() made, by pool.
  SocketCounts& counts() noexcept { return counts_; }
  const SocketCounts& counts() const noexcept { return counts_; }

  // Watches the connections that became idle since the last call. If more than `most` of all pools are idle
  // then, retires those that are idle longest. To be called after each call into libcurl.
  void settle_idle(std::size_t most);
  // To be called for each event. False if the connection is not idle. Else retires it if its server closed
  // it, or sent data over HTTP/1 without a request.
  [[nodiscard]] bool end_idle(int descriptor);

  // The engine is destroyed, or about to be: the object makes no further call to it.
  void abandon_engine() noexcept { engine_gone_ = true; }

 private:
  struct Socket {
    std::shared_ptr<CallHandle> owner;
    std::shared_ptr<CallHandle> last_owner;  // if `unwanted`
    PrefetchHint hint;
    std::uint64_t idle_number = 0;  // from a counter of the connections that became idle
    std::uint32_t pool = 0;
    SocketUse use = SocketUse::foreign;
    bool shared = false;    // served several transfers at a time (HTTP/2)
    bool watched = false;   // by the engine
    bool unwanted = false;  // since the last settle_idle()
  };

  Socket& at(int descriptor);
  void set_use(Socket& socket, SocketUse use) noexcept;
  bool watch(int descriptor, Socket& socket, loop::IoEvents events);
  void unwatch(int descriptor, Socket& socket);
  bool assign(int descriptor, Socket& socket, const std::shared_ptr<CallHandle>& owner, PrefetchHint hint);
  void release(int descriptor, Socket& socket);
  void retire(int descriptor, Socket& socket);
  void forget(int descriptor);

  loop::Engine& engine_;
  loop::IoHandler& handler_;
  SocketTwins connecting_;
  std::vector<Socket> sockets_;  // by descriptor: the system hands out the smallest free numbers
  std::vector<int> unwanted_;    // since the last settle_idle(); some may be wanted or closed since
  std::uint64_t last_idle_number_ = 0;
  SocketCounts counts_;
  bool engine_gone_ = false;
};

}  // namespace agentcore::detail::net
