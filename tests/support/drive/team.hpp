// Team: threads that act at once, again and again, while the test drives its loop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace agentcore::test {

class Team {
 public:
  explicit Team(int members) {
    for (int i = 0; i < members; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~Team() {
    start(nullptr);
    for (auto& thread : threads_) thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Calls act(0), act(1), ... each on its thread, all released at the same moment, and meanwhile drive() on
  // this one, at least once and until they have returned.
  void run(const std::function<void(int)>& act, const std::function<void()>& drive) {
    left_ = static_cast<int>(threads_.size());
    arrived_ = 0;
    start(&act);
    do drive();
    while (left_.load(std::memory_order_acquire) != 0);
  }

 private:
  void start(const std::function<void(int)>* act) {
    const std::lock_guard lock(mutex_);
    act_ = act;
    ++round_;
    change_.notify_all();
  }

  void serve(int number) {
    for (std::uint64_t round = 1;; ++round) {
      const std::function<void(int)>* act = nullptr;
      {
        std::unique_lock lock(mutex_);
        change_.wait(lock, [&] { return round_ >= round; });
        act = act_;
      }
      if (!act) return;
      ++arrived_;
      while (arrived_.load() < static_cast<int>(threads_.size())) std::this_thread::yield();
      (*act)(number);
      left_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::mutex mutex_;
  std::condition_variable change_;
  std::uint64_t round_ = 0;                        // guarded
  const std::function<void(int)>* act_ = nullptr;  // guarded
  std::atomic<int> left_{0};
  std::atomic<int> arrived_{0};
  std::vector<std::thread> threads_;  // last: they use the rest
};

// A small generator for schedules: the same numbers for the same seed, everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t roll() noexcept {
    std::uint64_t z = (state_ += 0x9e37'79b9'7f4a'7c15U);
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9U;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t sides) noexcept { return roll() % sides; }

 private:
  std::uint64_t state_;
};

}  // namespace agentcore::test
