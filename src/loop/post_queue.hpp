// PostQueue: functions on their way to the loop thread.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace agentcore::loop {

// Any thread pushes; the loop thread collects what is there and then takes one by one, in the order of
// pushing. No function is called or destroyed under the lock.
class PostQueue {
 public:
  // False, and the function is dropped, when the queue is closed. @threadsafe
  bool push(std::function<void()> function);

  // True when neither a pushed nor a collected function is left. @loop_thread
  bool empty() const;

  // Moves what was pushed so far to what take() hands out; returns how much that is now. @loop_thread
  std::size_t collect();
  // The next collected function; empty when there is none. @loop_thread
  std::function<void()> take() noexcept;

  // Drops everything, now and later. @loop_thread
  void close();

 private:
  mutable std::mutex mutex_;
  std::vector<std::function<void()>> pushed_;  // guarded
  bool closed_ = false;                        // guarded
  std::vector<std::function<void()>> taken_;   // the loop thread's own
  std::size_t next_ = 0;                       // in taken_
};

}  // namespace agentcore::loop
