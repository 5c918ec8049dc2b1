// SocketGuard: lets any thread shut down the sockets that one transfer holds, and no other socket ever.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

namespace agentcore::net {

// One guard belongs to one transfer. The loop thread says which descriptors serve that transfer now (claim,
// release); any thread may shut the guard, once and for all.
//
// The dangers are three: a shutdown() of a descriptor that was closed, of a number that was reused, and of a
// connection that already serves another transfer. Why none of them can happen:
//
//   R1  A descriptor is in a guard only between claim() and release(). Both run on the loop thread, and
//   whoever
//       owns the descriptors (SocketTable) calls release() before it closes one, before it lets the
//       connection go back to the pool, and before another guard claims it.
//   R2  shut() calls shutdown() only on descriptors in the guard, and only while it holds mutex_.
//   R3  release() takes mutex_. So when it returns, a shut() on another thread has either finished its system
//       call, or will find the descriptor gone.
//
//   By R1 and R3 no shutdown() runs, nor will run, for this guard's sake when the descriptor is closed or
//   given away. By R2 there is no shutdown() without a claim. What shut() hits is therefore open and its
//   transfer's own.
//
// And none is missed: shut() sets shut_ inside mutex_, and claim() reads it inside mutex_. A claim before the
// shut is found by it; a claim after it sees shut_ and shuts the socket down itself.
//
// While a transfer connects it may hold two sockets (IPv6 and IPv4 race); more is unheard of. If it did, the
// third is not claimed, and ends when the loop drops the transfer.
class SocketGuard {
 public:
  SocketGuard() = default;
  SocketGuard(const SocketGuard&) = delete;
  SocketGuard& operator=(const SocketGuard&) = delete;

  // From now on `descriptor` serves this transfer. On a guard that was shut, shuts it down and returns false.
  // Claiming twice is claiming once. @loop_thread
  bool claim(int descriptor) noexcept;

  // `descriptor` is about to be closed, kept for others, or claimed by another guard. @loop_thread
  void release(int descriptor) noexcept;

  // What is claimed now; -1: nothing. @loop_thread, which alone changes it, and so reads it without the lock.
  const std::array<int, 2>& claimed() const noexcept { return claimed_; }

  // Shuts down (both ways) what is claimed, and what will be claimed. Takes two system calls at most. True
  // the first time; a second caller returns only after the first one's system calls. @threadsafe
  bool shut() noexcept;
  bool is_shut() const noexcept { return shut_.load(std::memory_order_acquire); }

 private:
  static constexpr int none = -1;

  std::mutex mutex_;
  std::array<int, 2> claimed_{none, none};
  std::atomic<bool> shut_{false};
};

}  // namespace agentcore::net
