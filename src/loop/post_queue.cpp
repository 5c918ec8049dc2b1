#include "loop/post_queue.hpp"

#include <utility>

namespace agentcore::detail::loop {

bool PostQueue::push(std::function<void()> function) {
  const core::Lock lock(mutex_);
  if (closed_) return false;  // the parameter is destroyed after the lock is released
  pushed_.push_back(std::move(function));
  return true;
}

bool PostQueue::empty() const {
  return size() == 0;
}

std::size_t PostQueue::size() const {
  const core::Lock lock(mutex_);
  return batch_.size() - next_ + pushed_.size();
}

std::size_t PostQueue::capacity() const {
  const core::Lock lock(mutex_);
  return batch_.capacity() + pushed_.capacity();
}

std::function<void()> PostQueue::take() noexcept {
  if (next_ == batch_.size()) take_batch();
  if (next_ == batch_.size()) return nullptr;
  return std::exchange(batch_[next_++], nullptr);
}

// The next pushes reuse the memory of the last batch, unless it is far too large for what waits now.
void PostQueue::take_batch() noexcept {
  batch_.clear();
  next_ = 0;
  std::vector<std::function<void()>> oversized;
  const core::Lock lock(mutex_);
  if (batch_.capacity() > 64 && batch_.capacity() / 4 > pushed_.size()) oversized.swap(batch_);
  batch_.swap(pushed_);
}

void PostQueue::close() {
  std::vector<std::function<void()>> dropped_pushed;
  std::vector<std::function<void()>> dropped_batch;
  dropped_batch.swap(batch_);
  next_ = 0;
  const core::Lock lock(mutex_);
  closed_ = true;
  dropped_pushed.swap(pushed_);
}  // the lock is released first, then the functions are destroyed

}  // namespace agentcore::detail::loop
