#include "loop/post_queue.hpp"

#include <iterator>
#include <utility>

namespace agentcore::loop {

bool PostQueue::push(std::function<void()> function) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;  // the parameter dies after the lock
  pushed_.push_back(std::move(function));
  return true;
}

bool PostQueue::empty() const {
  if (next_ < taken_.size()) return false;
  const std::lock_guard lock(mutex_);
  return pushed_.empty();
}

std::size_t PostQueue::collect() {
  if (next_ == taken_.size()) {
    taken_.clear();
    next_ = 0;
  }
  const std::lock_guard lock(mutex_);
  if (taken_.empty()) {
    taken_.swap(pushed_);
  } else {
    // A poll ran out of time before: its rest goes first.
    std::move(pushed_.begin(), pushed_.end(), std::back_inserter(taken_));
    pushed_.clear();
  }
  return taken_.size() - next_;
}

std::function<void()> PostQueue::take() noexcept {
  if (next_ == taken_.size()) return nullptr;
  return std::exchange(taken_[next_++], nullptr);
}

void PostQueue::close() {
  std::vector<std::function<void()>> dropped_pushed;
  std::vector<std::function<void()>> dropped_taken;
  dropped_taken.swap(taken_);
  next_ = 0;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped_pushed.swap(pushed_);
}  // the lock goes first, then the functions

}  // namespace agentcore::loop
