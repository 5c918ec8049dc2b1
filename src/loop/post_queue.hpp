// PostQueue: functions on their way to the loop thread.
#pragma once

#include "core/mutex.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace agentcore::detail::loop {

// Any thread pushes; the loop thread takes one function at a time, in the order of pushing. No function is
// called or destroyed under the lock. Under the lock, take() swaps a whole batch out, and the next one only
// when that batch is used up: an endless backlog occupies the memory of two batches, and no more.
class PostQueue {
 public:
  // False, and the function is dropped, when the queue is closed. @threadsafe
  bool push(std::function<void()> function);

  // True when no function waits. @loop_thread
  bool empty() const;

  // How many functions wait. @loop_thread
  std::size_t size() const;
  // The oldest function; empty when there is none. @loop_thread
  std::function<void()> take() noexcept;

  // How many functions fit into the memory that the queue holds: in proportion to the number that waits, or
  // that waited when the last batch was swapped out. For tests. @loop_thread
  std::size_t capacity() const;

  // Drops everything, now and later. @loop_thread
  void close();

 private:
  void take_batch() noexcept;

  mutable core::Mutex mutex_;
  std::vector<std::function<void()>> pushed_ AGENTCORE_GUARDED_BY(mutex_);
  bool closed_ AGENTCORE_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> batch_;  // used by the loop thread only
  std::size_t next_ = 0;                      // in batch_
};

}  // namespace agentcore::detail::loop
