#include "net/stop_queue.hpp"

#include "loop/waker.hpp"

#include <utility>

namespace agentcore::detail::net {

StopQueue::StopQueue(std::shared_ptr<loop::Waker> waker) noexcept : waker_(std::move(waker)) {
}

StopQueue::~StopQueue() {
  close();
}

void StopQueue::push(CallHandle& handle) noexcept {
  handle.kept_ = handle.shared_from_this();
  switch (pushed_.push(handle)) {
    case core::Pushed::first:
      waker_->notify();
      break;
    case core::Pushed::added:
      break;
    case core::Pushed::refused:
      handle.kept_.reset();  // never the last reference: the caller holds one
      break;
  }
}

std::shared_ptr<CallHandle> StopQueue::pop() noexcept {
  if (taken_ == nullptr) taken_ = pushed_.take();
  if (taken_ == nullptr) return nullptr;
  CallHandle* const oldest = taken_;
  taken_ = Pushed::next(*oldest);
  return std::exchange(oldest->kept_, nullptr);
}

void StopQueue::close() noexcept {
  while (pop() != nullptr) continue;
  taken_ = pushed_.close();
  while (taken_ != nullptr) pop();
}

}  // namespace agentcore::detail::net
