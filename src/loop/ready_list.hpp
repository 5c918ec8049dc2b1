// ReadyList: the descriptors that the poller found ready and that are not delivered yet.
#pragma once

#include "platform/poller.hpp"

#include <cstddef>
#include <vector>

namespace agentcore::detail::loop {

// A list that is filled in one wait and then taken from the front. Keeps its memory. @loop_thread
class ReadyList {
 public:
  bool empty() const noexcept { return next_ == found_.size(); }
  // The first entry; the list is not empty.
  const platform::Ready& front() const noexcept { return found_[next_]; }
  // Removes the first entry and returns it; the list is not empty.
  platform::Ready take() noexcept { return found_[next_++]; }

  // Drops all entries; returns the vector that the next wait appends to. What was dropped is still ready and
  // will be found again.
  std::vector<platform::Ready>& refill() noexcept {
    found_.clear();
    next_ = 0;
    return found_;
  }

 private:
  std::vector<platform::Ready> found_;
  std::size_t next_ = 0;  // at most found_.size()
};

}  // namespace agentcore::detail::loop
