// PostQueue: functions on their way to the loop thread.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace agentcore::loop {

// Any thread pushes; the loop thread takes one by one, in the order of pushing. No function is called or
// destroyed under the lock. The loop thread takes a whole batch under the lock, and the next one only when
// that batch is used up: so a backlog that never ends occupies the memory of two batches and no more.
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

  // Functions that fit into the memory that the queue holds: at most in proportion to those that wait, and
  // those that waited when the last batch began. For tests. @loop_thread
  std::size_t capacity() const;

  // Drops everything, now and later. @loop_thread
  void close();

 private:
  void take_batch() noexcept;

  mutable std::mutex mutex_;
  std::vector<std::function<void()>> pushed_;  // guarded
  bool closed_ = false;                        // guarded
  std::vector<std::function<void()>> batch_;   // the loop thread's own
  std::size_t next_ = 0;                       // in batch_
};

}  // namespace agentcore::loop
