#include "mailbox/message_pool.hpp"

#include <new>

namespace agentcore::detail::mailbox {
namespace {

constexpr std::uint64_t pack(std::uint64_t old, std::uint32_t number) noexcept {
  return ((old >> 32) + 1) << 32 | number;
}

}  // namespace

std::uint32_t MessagePool::take() {
  std::uint64_t head = free_.load(std::memory_order_acquire);
  while (const auto number = static_cast<std::uint32_t>(head)) {
    const std::uint32_t next = (*this)[number].next.load(std::memory_order_relaxed);
    if (free_.compare_exchange_weak(head, pack(head, next), std::memory_order_acq_rel,
                                    std::memory_order_acquire))
      return number;
  }
  if (slab_.size() >= max_cells) throw std::bad_alloc();
  return slab_.grow() + 1;
}

void MessagePool::give(std::uint32_t first, std::uint32_t last) noexcept {
  std::uint64_t head = free_.load(std::memory_order_relaxed);
  do {
    (*this)[last].next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(head, pack(head, first), std::memory_order_acq_rel,
                                        std::memory_order_relaxed));
}

void MessagePool::give_back(std::uint32_t number) noexcept {
  (*this)[number].next.store(batch_first_, std::memory_order_relaxed);
  batch_first_ = number;
  if (batch_size_++ == 0) batch_last_ = number;
  if (batch_size_ < batch) return;
  give(batch_first_, batch_last_);
  batch_first_ = batch_last_ = batch_size_ = 0;
}

}  // namespace agentcore::detail::mailbox
