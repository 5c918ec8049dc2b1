// Executor: runs blocking work on threads other than the loop thread.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/export.hpp>

#include <cstddef>
#include <functional>
#include <memory>

namespace agentcore {

/// Runs jobs that must not run on the loop thread. Implement it with the host's own thread pool, or use
/// ThreadPool.
class AGENTCORE_API Executor {
 public:
  /// Called on the thread that releases the last reference. The library releases the references of tools on
  /// the loop thread.
  /// @threadsafe
  virtual ~Executor() = default;

  /// Runs `job` once, on a thread other than the loop thread. Must not block. If the executor destroys the
  /// job without running it, the tool call of the job fails.
  /// @threadsafe
  virtual void submit(std::function<void()> job) = 0;
};

/// A fixed number of threads with a queue.
///
/// An exception of a job is caught and dropped; a job that has to report an exception must catch it, as
/// make_blocking_tool() does.
///
/// Keep the pool as long as the tree. If only a tool holds the pool, the pool is destroyed with the last
/// agent that has the tool, and the loop thread waits for the jobs.
///
///     auto pool = std::make_shared<agentcore::ThreadPool>(2);
///     tools->add(agentcore::make_blocking_tool(
///         {.name = "now"}, pool, [](const nlohmann::json&, const agentcore::ToolContext&) {
///           return agentcore::ToolResult::done("12:00");
///         }));
class AGENTCORE_API ThreadPool final : public Executor {
 public:
  /// Starts `threads` threads, 1 to 1024. Throws std::invalid_argument if the number is out of range, and
  /// std::system_error if the system refuses a thread.
  explicit ThreadPool(std::size_t threads);
  /// As the constructor, for hosts without exceptions. Errors: invalid_config; out_of_memory, also if the
  /// system refuses a thread.
  static Result<std::unique_ptr<ThreadPool>> make(std::size_t threads);
  /// Drops the jobs that have not started and waits for the jobs that have. Stop the agents first: the stop
  /// tokens of their tools are then triggered. A job must not destroy its own pool, because it cannot wait
  /// for itself.
  /// @threadsafe
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Adds `job` to the queue, which has no limit. Throws std::invalid_argument if `job` is empty.
  /// @threadsafe
  void submit(std::function<void()> job) override;

  /// The number of jobs that have not started.
  /// @threadsafe
  std::size_t queued() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentcore
