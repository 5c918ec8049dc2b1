// Commit: the commit of one batch, on the loop thread or on a thread of an Executor.
#pragma once

#include "core/mutex.hpp"

#include <agentcore/error.hpp>
#include <agentcore/store.hpp>

#include <optional>
#include <utility>

namespace agentcore::detail::persist {

// Runs once: on the thread that calls run() or finish() first. All @threadsafe but set_batch() and
// take_batch().
class Commit {
 public:
  Commit(Store& store, StoreSync sync) noexcept : store_(store), sync_(sync) {}

  // Before it runs.
  void set_batch(StoreBatch batch) noexcept { batch_ = std::move(batch); }
  // After it has ended.
  StoreBatch take_batch() noexcept { return std::move(batch_); }

  // Commits the batch, unless that has begun.
  void run() noexcept;
  // The same, and waits for the thread on which it has begun.
  void finish() noexcept;
  // The executor has destroyed its job: the commit has failed, unless it has begun.
  void drop() noexcept;

  bool has_ended() const noexcept;
  // Valid from then on. Without the lock: nothing is written any more.
  const Result<void>& result() const noexcept AGENTCORE_UNCHECKED_LOCKS { return *result_; }

 private:
  bool begin() noexcept;
  void end(Result<void> result) noexcept;

  Store& store_;
  StoreBatch batch_;
  const StoreSync sync_;
  mutable core::Mutex mutex_;
  core::Condition ended_;
  bool begun_ AGENTCORE_GUARDED_BY(mutex_) = false;
  std::optional<Result<void>> result_ AGENTCORE_GUARDED_BY(mutex_);
};

}  // namespace agentcore::detail::persist
