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

void Commit::try_again() noexcept {
  const core::Lock lock(mutex_);
  ++attempt_;
  begun_ = false;
  result_.reset();
}

std::uint64_t Commit::attempt() const noexcept {
  const core::Lock lock(mutex_);
  return attempt_;
}

bool Commit::begin(std::uint64_t attempt) noexcept {
  const core::Lock lock(mutex_);
  return attempt == attempt_ && !std::exchange(begun_, true);
}

void Commit::run(std::uint64_t attempt) noexcept {
  if (!begin(attempt)) return;
  try {
    end(store_.commit(batch_, sync_));
  } catch (const std::exception& error) {
    end(thrown(error.what()));
  } catch (...) {
    end(thrown("not a std::exception"));
  }
}

void Commit::finish() noexcept {
  run(attempt());
  const core::Lock lock(mutex_);
  while (!result_) ended_.wait(mutex_);
}

void Commit::drop(std::uint64_t attempt) noexcept {
  if (!begin(attempt)) return;
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
