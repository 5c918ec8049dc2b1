// CallHandle: one running HTTP call, for use by any thread. Stops the call on the wire and at once.
#pragma once

#include "core/atomic.hpp"
#include "core/stoppable.hpp"
#include "net/socket_guard.hpp"

#include <memory>
#include <utility>

namespace agentcore::detail::loop {
class Engine;
}

namespace agentcore::detail::net {

class StopQueue;
class Transfer;

// How a stop works: a stop token's callback calls stop(), which sets the flag, shuts the sockets down and
// puts the handle into the queue of its transport. The loop removes it from the queue and ends the transfer.
//
// Invariants:
// 1. stop() implies cut(): a call that is stopped is cut. A call may be cut without being stopped, by its
//    owner, when the answer is complete and the connection stays open.
// 2. The handle is in the queue at most once in its life, between cut() and the pop() by the loop, and keeps
//    itself alive there.
// 3. transfer_ and next_ (outside the queue) belong to the loop thread.
class CallHandle final : public core::Stoppable, public std::enable_shared_from_this<CallHandle> {
  struct Key {};  // only make() can construct a handle

 public:
  // A handle for a transfer of the engine's transport; of the transport that takes its stops from `queue`.
  static std::shared_ptr<CallHandle> make(loop::Engine& engine);
  static std::shared_ptr<CallHandle> make(std::shared_ptr<StopQueue> queue);

  CallHandle(Key, std::shared_ptr<StopQueue> queue) noexcept : queue_(std::move(queue)) {}
  CallHandle(const CallHandle&) = delete;
  CallHandle& operator=(const CallHandle&) = delete;

  // Stops the call: its outcome is `cancelled`, whatever has been received. Cuts the transfer. True the first
  // time. @threadsafe (G1, G5, G6)
  bool stop() noexcept override;
  bool is_stopped() const noexcept override { return stopped_.load(std::memory_order_acquire); }
  // After the end of the transfer: a later stop() returns false, and stops nothing. False: it was stopped
  // before.
  bool finish() noexcept { return !stopped_.exchange(true, std::memory_order_acq_rel); }

  // Shuts down, on the calling thread, the sockets that the transfer holds now, and makes the loop end the
  // transfer. Never blocks longer than these system calls, never touches a socket that meanwhile serves
  // another transfer or was closed and its number reused. True the first time. @threadsafe
  bool cut() noexcept;
  bool is_cut() const noexcept { return sockets_.is_shut(); }

  // For the transport. @loop_thread
  SocketGuard& sockets() noexcept { return sockets_; }
  Transfer* transfer() const noexcept { return transfer_; }  // null before its start and after its end
  void attach(Transfer* transfer) noexcept { transfer_ = transfer; }

 private:
  friend class StopQueue;

  core::Atomic<bool> stopped_{false};
  SocketGuard sockets_;
  Transfer* transfer_ = nullptr;
  std::shared_ptr<StopQueue> queue_;
  std::shared_ptr<CallHandle> kept_;  // itself, while it is in the queue
  CallHandle* next_ = nullptr;        // in the queue
};

}  // namespace agentcore::detail::net
