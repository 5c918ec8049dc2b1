// SocketTable: which descriptors libcurl uses now, what it waits for on each, and which transfer each one
// serves.
#pragma once

#include "loop/poller.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace agentcore::loop {
class Engine;
}

namespace agentcore::net {

class Cut;
class SocketGuard;

// What the next piece of an answer will be handled by. Only fetched into the cache, never read from here:
// with thousands of streams each has gone cold since its last piece, and the system takes long enough to hand
// out the next.
struct Warmth {
  const void* transfer = nullptr;
  const void* handler = nullptr;
};

// Keeps the rules R1 and R2 of SocketGuard: a socket is claimed for at most one transfer, and released before
// it is closed, pooled, or claimed for another. Sockets that we opened are guarded; other descriptors
// (libcurl's resolver has its own) are only watched. All of it is @loop_thread.
//
// Where the calls come from (read in libcurl 7.88, and no later version may do less): the socket callback
// names a transfer's socket right after every step of that transfer (multi.c: singlesocket() follows
// multi_runsingle()), so a socket that went back to the pool is released before any other transfer takes its
// next step.
class SocketTable {
 public:
  SocketTable(loop::Engine& engine, loop::IoHandler& handler) : engine_(engine), handler_(handler) {}

  // A new socket for libcurl to connect, -1 on failure. Not inherited by child processes.
  int open(int family, int type, int protocol);
  // Releases and closes a socket made by open().
  void close(int descriptor);

  // libcurl waits for `events` on behalf of `owner`'s transfer (null: of no single transfer). False when the
  // system refuses to watch the descriptor: the transfer would wait for ever.
  [[nodiscard]] bool want(int descriptor, loop::IoEvents events, const std::shared_ptr<Cut>& owner,
                          Warmth warmth = {});
  // libcurl waits no longer: the connection is kept for others, or about to be closed.
  void unwant(int descriptor);

  // From now on it serves nobody in particular: several transfers at a time, or nobody knows yet.
  void share(int descriptor);
  // It turned out to serve `owner`'s transfer alone. Nothing when libcurl does not wait for it just now: only
  // after a want() it will say when the transfer is done with it.
  void claim(int descriptor, const std::shared_ptr<Cut>& owner, Warmth warmth);

  // Ends the connections of a transfer that ended early: shuts down what its guard holds and watches it no
  // more.
  void hang_up(SocketGuard& guard);

  // Fetches what an event of this descriptor will need.
  void warm(int descriptor) const noexcept;
  // Why an event of this descriptor should not reach libcurl: its transfer has ended or was cut. Stops
  // watching.
  bool silence_if_over(int descriptor);

  // Kept connections that serve no transfer now.
  std::size_t idle() const noexcept { return idle_; }
  bool is_idle(int descriptor) noexcept { return at(descriptor).idle; }
  // Connections that serve a transfer, or are being made for one.
  std::size_t busy() const noexcept { return ours_ - idle_ - retired_; }
  // Kept connections that were shut down here, and that libcurl has not closed yet.
  std::size_t retired() const noexcept { return retired_; }

  // Watches the connections that became idle since the last call. If more than `most` are idle then, retires
  // those that are idle longest. To be called after each call into libcurl.
  void settle_idle(std::size_t most);
  // To be called when an event comes for an idle connection. Retires it if its server closed it, or sent over
  // HTTP/1 what no request asked for.
  void end_idle(int descriptor);

  // From now on the engine is not told anything any more: it is gone, or about to go.
  void abandon_engine() noexcept { engine_gone_ = true; }

 private:
  struct Socket {
    std::shared_ptr<Cut> owner;
    Warmth warmth;
    std::uint64_t idle_number = 0;  // grows with each connection that becomes idle
    bool ours = false;              // made by open()
    bool idle = false;              // ours, served a transfer, and waits for the next
    bool shared = false;            // served several transfers at a time (HTTP/2)
    bool retired = false;           // ours, kept no longer: shut down
    bool watched = false;           // by the engine
  };

  Socket& at(int descriptor);
  bool watch(int descriptor, Socket& socket, loop::IoEvents events);
  void unwatch(int descriptor, Socket& socket);
  bool own(int descriptor, Socket& socket, const std::shared_ptr<Cut>& owner, Warmth warmth);
  void release(int descriptor, Socket& socket);
  void set_idle(Socket& socket, bool idle) noexcept;
  void set_retired(Socket& socket, bool retired) noexcept;
  void retire(int descriptor, Socket& socket);
  int oldest_idle() const noexcept;

  loop::Engine& engine_;
  loop::IoHandler& handler_;
  std::vector<Socket> sockets_;  // by descriptor: the system hands out the smallest free numbers
  std::vector<std::pair<int, std::shared_ptr<Cut>>> newly_idle_;  // each with its last owner, if it had one
  std::uint64_t last_idle_number_ = 0;
  std::size_t ours_ = 0;
  std::size_t idle_ = 0;
  std::size_t retired_ = 0;
  bool engine_gone_ = false;
};

}  // namespace agentcore::net
