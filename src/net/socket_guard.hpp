// SocketGuard: lets any thread shut down the sockets that one transfer holds, and never another socket.
#pragma once

#include "core/atomic.hpp"
#include "core/home_process.hpp"
#include "core/mutex.hpp"

#include <array>

namespace agentcore::detail::net {

// One guard belongs to one transfer. The loop thread registers the descriptors that serve that transfer now
// (claim, release); any thread may shut the guard, permanently.
//
// Three faults must not happen: a shutdown() of a descriptor that was closed, of a number that was reused,
// and of a connection that already serves another transfer. Invariants:
//
//   R1  A descriptor is in a guard only between claim() and release(). Both run on the loop thread. The owner
//       of the descriptors (SocketTable) calls release() before it closes one, before the connection goes
//       back to the pool, and before another guard claims it. Where libcurl may close a socket unannounced,
//       the guard holds a descriptor of the socket that SocketTable alone closes.
//   R2  shut() calls shutdown() only on descriptors in the guard, and only while it holds mutex_.
//   R3  release() takes mutex_. So when it returns, a shut() on another thread has either finished its system
//       call, or will not find the descriptor.
//
// By R1 and R3, no shutdown() of this guard runs or will run when the descriptor is closed or given to
// others. By R2 there is no shutdown() without a claim. So shut() reaches only sockets that are open and
// serve its transfer.
//
// No socket is missed: shut() sets shut_ under mutex_, and claim() reads it under mutex_. shut() finds every
// earlier claim; a later claim finds shut_ set and shuts the socket down itself.
//
// While a transfer connects it may hold two sockets (IPv6 and IPv4 race). A third is not claimed; it is
// closed when the loop ends the transfer.
class SocketGuard {
 public:
  SocketGuard() = default;
  SocketGuard(const SocketGuard&) = delete;
  SocketGuard& operator=(const SocketGuard&) = delete;

  // From now on `descriptor` serves this transfer. On a guard that was shut, shuts it down and returns false.
  // A repeated claim has no effect. @loop_thread
  bool claim(int descriptor) noexcept;

  // `descriptor` is about to be closed, kept for others, or claimed by another guard. @loop_thread
  void release(int descriptor) noexcept;

  // The claimed descriptor; -1: none. @loop_thread, the only writer, which therefore reads it without the
  // lock.
  const std::array<int, 2>& claimed() const noexcept AGENTCORE_UNCHECKED_LOCKS { return claimed_; }

  // Shuts down (both ways) the claimed descriptors, and all later ones. Makes two system calls at most. True
  // the first time; a second caller returns only after the first one's system calls. @threadsafe
  bool shut() noexcept;
  bool is_shut() const noexcept { return shut_.load(std::memory_order_acquire); }

 private:
  static constexpr int none = -1;

  core::HomeProcess home_;

  core::Mutex mutex_;
  std::array<int, 2> claimed_ AGENTCORE_GUARDED_BY(mutex_){none, none};
  core::Atomic<bool> shut_{false};
};

}  // namespace agentcore::detail::net
