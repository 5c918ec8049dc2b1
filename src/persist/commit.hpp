// Commit: the commit of one batch, on the loop thread or on a thread of an Executor.
#pragma once

#include "core/mutex.hpp"

#include <agentcore/error.hpp>
#include <agentcore/store.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace agentcore::detail::persist {

// Each attempt runs once: on the thread that calls run() or finish() first. All @threadsafe but set_batch()
// and try_again().
class Commit {
 public:
  Commit(Store& store, StoreSync sync) noexcept : store_(store), sync_(sync) {}

  // Before the first attempt.
  void set_batch(StoreBatch batch) noexcept { batch_ = std::move(batch); }
  // After an attempt that has failed: the next one. What still refers to the one before has no effect.
  void try_again() noexcept;
  std::uint64_t attempt() const noexcept;

  // Commits the batch, unless that has begun.
  void run(std::uint64_t attempt) noexcept;
  // The same for the present attempt, and waits for the thread on which it has begun.
  void finish() noexcept;
  // The executor has destroyed its job: the attempt has failed, unless it has begun.
  void drop(std::uint64_t attempt) noexcept;

  bool has_ended() const noexcept;
  // Valid from then on, until try_again(). Without the lock: nothing is written in between.
  const Result<void>& result() const noexcept AGENTCORE_UNCHECKED_LOCKS { return *result_; }

 private:
  bool begin(std::uint64_t attempt) noexcept;
  void end(Result<void> result) noexcept;

  Store& store_;
  StoreBatch batch_;
  const StoreSync sync_;
  mutable core::Mutex mutex_;
  core::Condition ended_;
  std::uint64_t attempt_ AGENTCORE_GUARDED_BY(mutex_) = 1;
  bool begun_ AGENTCORE_GUARDED_BY(mutex_) = false;
  std::optional<Result<void>> result_ AGENTCORE_GUARDED_BY(mutex_);
};

}  // namespace agentcore::detail::persist
