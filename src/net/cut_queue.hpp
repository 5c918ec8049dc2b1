// CutQueue: the cuts that the loop has still to follow up, in the order in which they were made.
#pragma once

#include <atomic>
#include <memory>

namespace agentcore::loop {
class Waker;
}

namespace agentcore::net {

class Cut;

// A lock-free stack that the loop takes whole and turns round. A cut enters once in its life and is kept
// alive while it is in. Adding allocates nothing.
class CutQueue {
 public:
  explicit CutQueue(std::shared_ptr<loop::Waker> waker) noexcept;
  ~CutQueue();
  CutQueue(const CutQueue&) = delete;
  CutQueue& operator=(const CutQueue&) = delete;

  // Adds, and wakes the loop when it is the first. Does nothing once closed. @threadsafe
  void push(Cut& cut) noexcept;

  // The next one, null when there is none. @loop_thread
  std::shared_ptr<Cut> pop() noexcept;
  bool empty() const noexcept;

  // Drops what is in it and refuses the rest. @loop_thread
  void close() noexcept;

 private:
  bool take() noexcept;
  void turn_round(Cut* newest) noexcept;

  std::atomic<Cut*> pushed_{nullptr};  // newest first
  Cut* taken_ = nullptr;               // oldest first
  std::shared_ptr<loop::Waker> waker_;
};

}  // namespace agentcore::net
