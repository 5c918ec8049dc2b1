#include "mailbox/mailbox.hpp"

#include <utility>

namespace agentcore::detail::mailbox {
namespace {

// Takes all messages off the head, and subtracts `taken` from its count, if there are any. Returns the
// messages oldest first.
std::uint32_t drain(core::Node& node, MessagePool& pool, std::uint32_t taken) noexcept {
  std::uint64_t raw = node.mailbox_head.load(std::memory_order_relaxed);
  do {
    if (Head{raw}.is_closed() || Head{raw}.newest() == 0) return 0;
  } while (!node.mailbox_head.compare_exchange_weak(raw, Head{raw}.drained(taken).raw(),
                                                    std::memory_order_acq_rel, std::memory_order_relaxed));
  std::uint32_t newest_first = Head{raw}.newest();
  std::uint32_t oldest_first = 0;
  while (newest_first) {
    Cell& cell = pool[newest_first];
    const std::uint32_t next = cell.next.load(std::memory_order_relaxed);
    cell.next.store(oldest_first, std::memory_order_relaxed);
    oldest_first = newest_first;
    newest_first = next;
  }
  return oldest_first;
}

// Called after the head's count was reduced: between the two, position() is too low, never too high.
void count_taken(core::Node& node, std::size_t count) noexcept {
  node.taken.store(node.taken.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(count),
                   std::memory_order_release);
}

// Clears the messages of a list and returns its cells to the pool. Returns their number.
std::size_t give_list(MessagePool& pool, std::uint32_t first) noexcept {
  if (!first) return 0;
  std::size_t count = 0;
  std::uint32_t last = first;
  for (std::uint32_t cell = first; cell; cell = pool[cell].next.load(std::memory_order_relaxed)) {
    pool[cell].message = Message{};
    last = cell;
    ++count;
  }
  pool.give(first, last);
  return count;
}

bool is_open_in(const core::Node& node, std::uint32_t epoch) noexcept {
  const core::PackedState now = node.load();
  return now.is_open() && now.epoch() == epoch;
}

}  // namespace

Push push(core::Node& node, MessagePool& pool, std::uint32_t number, std::uint32_t generation,
          std::uint32_t epoch) noexcept {
  Cell& cell = pool[number];
  cell.generation = generation;
  const std::uint32_t limit = node.mailbox_limit.load(std::memory_order_relaxed);
  std::uint64_t raw = node.mailbox_head.load(std::memory_order_acquire);
  for (;;) {
    Head head{raw};
    if (!head.belongs_to(generation)) return Push::gone;
    if (head.is_closed()) {
      if (head.ticket() == epoch) return Push::closed;
      // Closed in another epoch, though the agent was open. Either a resume has just happened and its thread
      // has not opened the mailbox yet: then it is opened here. Or a later stop has closed it: then its
      // ticket is newer than the epoch that the sender has read. Ticket and epoch are compared modulo 2^22;
      // that is exact while the agent is still open in the epoch that the sender has read.
      const std::uint32_t age = (epoch - head.ticket()) & core::PackedState::epoch_mask;
      if (age > core::PackedState::epoch_mask / 2 || !is_open_in(node, epoch)) return Push::closed;
      open(node, generation, head.ticket());
      raw = node.mailbox_head.load(std::memory_order_acquire);
      continue;
    }
    if (head.count() >= limit) return Push::full;
    cell.next.store(head.newest(), std::memory_order_relaxed);
    if (node.mailbox_head.compare_exchange_weak(raw, head.pushed(number).raw(), std::memory_order_acq_rel,
                                                std::memory_order_acquire))
      return head.count() == 0 ? Push::queued_first : Push::queued;
  }
}

std::size_t length(const core::Node& node, std::uint32_t generation) noexcept {
  const Head head{node.mailbox_head.load(std::memory_order_acquire)};
  return head.belongs_to(generation) && !head.is_closed() ? head.count() : 0;
}

std::uint32_t take(core::Node& node, MessagePool& pool) noexcept {
  const std::uint32_t generation = node.load(std::memory_order_relaxed).generation();
  for (;;) {
    std::uint32_t number = node.backlog;
    if (number)
      node.mailbox_head.fetch_sub(Head::one, std::memory_order_acq_rel);
    else
      number = drain(node, pool, 1);
    if (!number) return 0;
    node.backlog = pool[number].next.load(std::memory_order_relaxed);
    count_taken(node, 1);
    if (pool[number].generation == generation) return number;
    pool[number].message = Message{};  // sent to an earlier agent of this slot, deleted during the push
    pool.give(number, number);
  }
}

std::size_t clear(core::Node& node, MessagePool& pool) noexcept {
  std::size_t count = give_list(pool, node.backlog);
  node.backlog = 0;
  count += give_list(pool, drain(node, pool, 0));
  node.mailbox_head.fetch_sub(Head::one * count, std::memory_order_acq_rel);
  count_taken(node, count);
  return count;
}

std::uint32_t position(const core::Node& node) noexcept {
  const std::uint32_t taken = node.taken.load(std::memory_order_acquire);
  return taken + Head{node.mailbox_head.load(std::memory_order_acquire)}.count();
}

std::size_t clear_up_to(core::Node& node, MessagePool& pool, std::uint32_t position) noexcept {
  std::size_t count = 0;
  while (static_cast<std::int32_t>(position - node.taken.load(std::memory_order_relaxed)) > 0) {
    const std::uint32_t number = take(node, pool);
    if (!number) break;
    pool[number].message = Message{};
    pool.give_back(number);
    ++count;
  }
  return count;
}

std::size_t close(core::Node& node, MessagePool& pool, std::uint32_t ticket) noexcept {
  const std::uint32_t generation = node.load(std::memory_order_relaxed).generation();
  const Head before{
      node.mailbox_head.exchange(Head::closed(generation, ticket).raw(), std::memory_order_acq_rel)};
  std::size_t count = give_list(pool, node.backlog);
  node.backlog = 0;
  if (!before.is_closed()) count += give_list(pool, before.newest());
  count_taken(node, count);
  return count;
}

bool is_closed(const core::Node& node, std::uint32_t generation, std::uint32_t ticket) noexcept {
  return node.mailbox_head.load(std::memory_order_acquire) == Head::closed(generation, ticket).raw();
}

void open(core::Node& node, std::uint32_t generation, std::uint32_t ticket) noexcept {
  std::uint64_t expected = Head::closed(generation, ticket).raw();
  node.mailbox_head.compare_exchange_strong(expected, Head::open(generation).raw(),
                                            std::memory_order_acq_rel);
}

}  // namespace agentcore::detail::mailbox
