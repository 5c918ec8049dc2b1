#include "mailbox/mailbox.hpp"

#include <utility>

namespace agentcore::mailbox {
namespace {

// Takes the stack off the door, and `taken` off its count, if there is one. Returns it oldest first.
std::uint32_t drain(core::Node& node, MessagePool& pool, std::uint32_t taken) noexcept {
  std::uint64_t raw = node.door.load(std::memory_order_relaxed);
  do {
    if (Door{raw}.is_closed() || Door{raw}.newest() == 0) return 0;
  } while (!node.door.compare_exchange_weak(raw, Door{raw}.drained(taken).raw(), std::memory_order_acq_rel,
                                            std::memory_order_relaxed));
  std::uint32_t newest_first = Door{raw}.newest();
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

// After they left the count of the door: who looks in between sees a position that is too low, never too
// high.
void count_taken(core::Node& node, std::size_t count) noexcept {
  node.taken.store(node.taken.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(count),
                   std::memory_order_release);
}

// Clears the messages of a list and gives it back; how many there were.
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

}  // namespace

Push push(core::Node& node, MessagePool& pool, std::uint32_t number, std::uint32_t generation,
          std::uint32_t epoch) noexcept {
  Cell& cell = pool[number];
  cell.generation = generation;
  const std::uint32_t limit = node.mailbox_limit.load(std::memory_order_relaxed);
  std::uint64_t raw = node.door.load(std::memory_order_acquire);
  for (;;) {
    Door door{raw};
    if (!door.belongs_to(generation)) return Push::gone;
    if (door.is_closed()) {
      if (door.ticket() == epoch) return Push::closed;
      // Another epoch's door, though the word was open: either a resume has just happened and its thread has
      // not come to open the door yet, then we do it; or a later stop has closed it, then its ticket is newer
      // than the epoch that the sender saw.
      const std::uint32_t age = (epoch - door.ticket()) & core::Word::epoch_mask;
      if (age > core::Word::epoch_mask / 2) return Push::closed;
      open(node, generation, door.ticket());
      raw = node.door.load(std::memory_order_acquire);
      continue;
    }
    if (door.count() >= limit) return Push::full;
    cell.next.store(door.newest(), std::memory_order_relaxed);
    if (node.door.compare_exchange_weak(raw, door.pushed(number).raw(), std::memory_order_acq_rel,
                                        std::memory_order_acquire))
      return door.count() == 0 ? Push::queued_first : Push::queued;
  }
}

std::size_t length(const core::Node& node, std::uint32_t generation) noexcept {
  const Door door{node.door.load(std::memory_order_acquire)};
  return door.belongs_to(generation) && !door.is_closed() ? door.count() : 0;
}

std::uint32_t take(core::Node& node, MessagePool& pool) noexcept {
  const std::uint32_t generation = node.load(std::memory_order_relaxed).generation();
  for (;;) {
    std::uint32_t number = node.backlog;
    if (number)
      node.door.fetch_sub(Door::one, std::memory_order_acq_rel);
    else
      number = drain(node, pool, 1);
    if (!number) return 0;
    node.backlog = pool[number].next.load(std::memory_order_relaxed);
    count_taken(node, 1);
    if (pool[number].generation == generation) return number;
    pool[number].message = Message{};  // sent to an agent that lay here before: it died while being sent to
    pool.give(number, number);
  }
}

std::size_t clear(core::Node& node, MessagePool& pool) noexcept {
  std::size_t count = give_list(pool, node.backlog);
  node.backlog = 0;
  count += give_list(pool, drain(node, pool, 0));
  node.door.fetch_sub(Door::one * count, std::memory_order_acq_rel);
  count_taken(node, count);
  return count;
}

std::uint32_t position(const core::Node& node) noexcept {
  const std::uint32_t taken = node.taken.load(std::memory_order_acquire);
  return taken + Door{node.door.load(std::memory_order_acquire)}.count();
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
  const Door before{node.door.exchange(Door::closed(generation, ticket).raw(), std::memory_order_acq_rel)};
  std::size_t count = give_list(pool, node.backlog);
  node.backlog = 0;
  if (!before.is_closed()) count += give_list(pool, before.newest());
  count_taken(node, count);
  return count;
}

bool is_closed(const core::Node& node, std::uint32_t generation, std::uint32_t ticket) noexcept {
  return node.door.load(std::memory_order_acquire) == Door::closed(generation, ticket).raw();
}

void open(core::Node& node, std::uint32_t generation, std::uint32_t ticket) noexcept {
  std::uint64_t expected = Door::closed(generation, ticket).raw();
  node.door.compare_exchange_strong(expected, Door::open(generation).raw(), std::memory_order_acq_rel);
}

}  // namespace agentcore::mailbox
