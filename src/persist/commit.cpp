#include "persist/commit.hpp"

#include "persist/host_store.hpp"

#include <exception>
#include <utility>

namespace agentcore::detail::persist {

bool Commit::begin() noexcept {
  const core::Lock lock(mutex_);
  return !std::exchange(begun_, true);
}

void Commit::run() noexcept {
  if (!begin()) return;
  end(commit_to(store_, batch_, sync_));
}

void Commit::finish() noexcept {
  run();
  const core::Lock lock(mutex_);
  while (!result_) ended_.wait(mutex_);
}

void Commit::drop() noexcept {
  if (!begin()) return;
  try {
    end(Error{Errc::store_failed, "RestoreOptions::executor has destroyed a commit without running it"});
  } catch (const std::exception&) {
    end(Error{Errc::store_failed, {}});
  }
}

bool Commit::has_ended() const noexcept {
  const core::Lock lock(mutex_);
  return result_.has_value();
}

void Commit::end(Result<void> result) noexcept {
  const core::Lock lock(mutex_);
  result_.emplace(std::move(result));
  ended_.notify_all();
}

}  // namespace agentcore::detail::persist
