#include "persist/commit.hpp"

#include <exception>
#include <utility>

namespace agentcore::detail::persist {
namespace {

// Without memory the error has no text.
Error thrown(const char* what) noexcept {
  Error error{Errc::store_failed, {}};
  try {
    error.message = std::string("Store::commit() threw an exception: ") + what;
  } catch (const std::exception&) {
    error.message.clear();
  }
  return error;
}

}  // namespace

bool Commit::begin() noexcept {
  const core::Lock lock(mutex_);
  return !std::exchange(begun_, true);
}

void Commit::run() noexcept {
  if (!begin()) return;
  try {
    end(store_.commit(batch_, sync_));
  } catch (const std::exception& error) {
    end(thrown(error.what()));
  } catch (...) {
    end(thrown("not a std::exception"));
  }
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
