// MessagePool: cells for messages, taken on any thread, returned by the loop.
#pragma once

#include "core/slab.hpp"

#include <agentcore/message.hpp>

#include <atomic>
#include <cstdint>

namespace agentcore::detail::mailbox {

// A message and its place in a list. Lists link cells by index + 1; 0 ends them.
struct Cell {
  std::atomic<std::uint32_t> next{0};
  std::uint32_t generation = 0;  // of the agent it was sent to
  Message message;
};

// A lock-free stack of free cells over a slab. The head has a tag that changes with every pop, so that a cell
// taken and returned in between is detected. The memory is bounded by the highest number of messages that
// were in mailboxes of the tree at once.
class MessagePool {
 public:
  static constexpr std::uint32_t max_cells = (1U << 28) - 1;

  // A cell's number (index + 1), its message ready to be filled. @threadsafe
  std::uint32_t take();
  // Returns a list of cells, from `first` to `last`, whose messages were moved out or cleared. @threadsafe
  void give(std::uint32_t first, std::uint32_t last) noexcept;
  // Returns one cell; in batches, so that senders and the loop seldom contend. @loop_thread
  void give_back(std::uint32_t number) noexcept;

  Cell& operator[](std::uint32_t number) const noexcept { return slab_[number - 1]; }

 private:
  static constexpr std::uint32_t batch = 64;

  core::Slab<Cell> slab_;
  std::uint32_t batch_first_ = 0;  // cells returned one by one, not yet on the free list
  std::uint32_t batch_last_ = 0;
  std::uint32_t batch_size_ = 0;
  alignas(64) std::atomic<std::uint64_t> free_{0};  // tag << 32 | number
};

}  // namespace agentcore::detail::mailbox
