// MessagePool: cells for messages, taken on any thread, given back by the loop.
#pragma once

#include <atomic>
#include <cstdint>

#include <agentcore/message.hpp>

#include "core/slab.hpp"

namespace agentcore::mailbox {

// A message and its place in a list. Lists link cells by index + 1; 0 ends them.
struct Cell {
  std::atomic<std::uint32_t> next{0};
  std::uint32_t generation = 0;  // of the agent it was sent to
  Message message;
};

// A lock-free stack of free cells over a slab. The head carries a tag that changes with every pop, so that a cell
// taken and returned in between is noticed. Memory is bounded by the most messages that ever lay in mailboxes of
// the tree at once.
class MessagePool {
 public:
  static constexpr std::uint32_t max_cells = (1U << 28) - 1;

  // A cell's number (index + 1), its message ready to be filled. @threadsafe
  std::uint32_t take();
  // Gives back a list of cells, from `first` to `last`, whose messages were moved out or cleared. @threadsafe
  void give(std::uint32_t first, std::uint32_t last) noexcept;

  Cell& operator[](std::uint32_t number) const noexcept { return slab_[number - 1]; }

 private:
  core::Slab<Cell> slab_;
  alignas(64) std::atomic<std::uint64_t> free_{0};  // tag << 32 | number
};

}  // namespace agentcore::mailbox
