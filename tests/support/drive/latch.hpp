// Latch: std::latch for the tests that also run on Windows. With the libstdc++ of MinGW 12, threads that wait
// for a std::latch or a std::counting_semaphore are sometimes not woken.
#pragma once

#include <condition_variable>
#include <mutex>

namespace agentcore::test {

class Latch {
 public:
  explicit Latch(int count) : count_(count) {}

  void count_down() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) zero_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    zero_.wait(lock, [this] { return count_ <= 0; });
  }
  void arrive_and_wait() {
    count_down();
    wait();
  }

 private:
  std::mutex mutex_;
  std::condition_variable zero_;
  int count_;
};

}  // namespace agentcore::test
