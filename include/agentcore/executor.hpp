// Executor: where blocking work runs, which must not be on the loop thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace agentcore {

// The host's own pool, or a ThreadPool. submit() is @threadsafe, never blocks, and runs `job` once on some
// other thread than the loop's; a job that it drops unrun counts as failed.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void submit(std::function<void()> job) = 0;
};

// A fixed number of threads and a queue. The destructor drops what has not begun and waits for what has, so
// stop the agents first: their tools are then told to end. What a job throws ends there; one that wants it
// known catches it itself, as make_blocking_tool() does. Keep the pool as long as the tree: one that only a
// tool holds is joined when the last agent with that tool goes, on the loop thread. Never destroyed by one of
// its own jobs, which cannot wait for itself.
class ThreadPool final : public Executor {
 public:
  // 1 to 1024 threads, started at once. Throws std::invalid_argument out of that range, std::system_error
  // when the system refuses.
  explicit ThreadPool(std::size_t threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void submit(std::function<void()> job) override;  // throws std::invalid_argument for an empty function
  std::size_t queued() const;                       // jobs that have not begun. @threadsafe

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentcore
