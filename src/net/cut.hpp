// Cut: ends one transfer from any thread, on the wire and at once.
#pragma once

#include "net/socket_guard.hpp"

#include <memory>

namespace agentcore::loop {
class Engine;
}

namespace agentcore::net {

class CutQueue;
class Transfer;

class Cut final : public std::enable_shared_from_this<Cut> {
  struct Key {};  // only make() can make one

 public:
  // Of the engine's transport; of the transport that takes its cuts out of `queue`.
  static std::shared_ptr<Cut> make(loop::Engine& engine);
  static std::shared_ptr<Cut> make(std::shared_ptr<CutQueue> queue);

  Cut(Key, std::shared_ptr<CutQueue> queue) noexcept : queue_(std::move(queue)) {}
  Cut(const Cut&) = delete;
  Cut& operator=(const Cut&) = delete;

  // Shuts the transfer's socket down on the calling thread, if it holds one now, and tells the loop to end
  // the transfer. Never blocks longer than that system call, never touches a socket that meanwhile serves
  // another transfer or got closed and its number reused. Idempotent. True the first time. @threadsafe (G1,
  // G5, G6)
  bool cut() noexcept;
  bool is_cut() const noexcept { return guard_.is_shut(); }

  // What follows is the transport's. @loop_thread
  SocketGuard& guard() noexcept { return guard_; }
  Transfer* transfer() const noexcept { return transfer_; }  // null before its start and after its end
  void attach(Transfer* transfer) noexcept { transfer_ = transfer; }

 private:
  friend class CutQueue;

  SocketGuard guard_;
  Transfer* transfer_ = nullptr;
  std::shared_ptr<CutQueue> queue_;
  std::shared_ptr<Cut> kept_;  // itself, while it stands in the queue
  Cut* next_ = nullptr;        // in the queue
};

}  // namespace agentcore::net
