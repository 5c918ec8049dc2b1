// Commit: one commit of a batch, on the loop thread or on a thread of an Executor.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/store.hpp>

#include <condition_variable>
#include <mutex>
#include <optional>

namespace agentcore::detail::persist {

// Runs once: on the thread that calls run() or finish() first. All @threadsafe.
class Commit {
 public:
  Commit(Store& store, StoreBatch batch, StoreSync sync) noexcept
      : store_(store), batch_(std::move(batch)), sync_(sync) {}

  // Commits the batch, unless that has begun. Returns whether this call has done it.
  bool run() noexcept;
  // The same, and waits for the thread on which it has begun.
  void finish() noexcept;
  // The executor has destroyed its job: the commit has failed, unless it has begun.
  void drop() noexcept;

  // Nothing: it has not ended. The result is valid from then on.
  bool has_ended() const noexcept;
  const Result<void>& result() const noexcept { return *result_; }
  // After its end: takes the batch back.
  StoreBatch take_batch() noexcept { return std::move(batch_); }

 private:
  void end(Result<void> result) noexcept;

  Store& store_;
  StoreBatch batch_;
  const StoreSync sync_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool begun_ = false;
  std::optional<Result<void>> result_;
};

}  // namespace agentcore::detail::persist
