// StopQueue: the calls that were cut and whose transfers the loop has not ended yet, oldest first.
#pragma once

#include "core/mpsc_stack.hpp"
#include "net/call_handle.hpp"

#include <memory>

namespace agentcore::detail::loop {
class Waker;
}

namespace agentcore::detail::net {

// A handle enters once in its life and is kept alive while it is in. Adding allocates nothing.
class StopQueue {
 public:
  explicit StopQueue(std::shared_ptr<loop::Waker> waker) noexcept;
  ~StopQueue();
  StopQueue(const StopQueue&) = delete;
  StopQueue& operator=(const StopQueue&) = delete;

  // Adds the handle, and wakes the loop if the queue was empty. Does nothing once the queue is closed. The
  // caller holds a reference to the handle. @threadsafe
  void push(CallHandle& handle) noexcept;

  // Removes the oldest handle. Null: there is none. @loop_thread
  std::shared_ptr<CallHandle> pop() noexcept;
  bool empty() const noexcept { return taken_ == nullptr && pushed_.empty(); }

  // Drops all handles and refuses later ones. @loop_thread
  void close() noexcept;

 private:
  using Pushed = core::MpscStack<CallHandle, &CallHandle::next_>;

  Pushed pushed_;
  CallHandle* taken_ = nullptr;  // from pushed_, oldest first
  std::shared_ptr<loop::Waker> waker_;
};

}  // namespace agentcore::detail::net
