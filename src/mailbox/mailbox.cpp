#include "mailbox/mailbox.hpp"

#include <utility>

namespace agentcore::detail::mailbox {
namespace {

std::uint32_t next_of(MessagePool& pool, std::uint32_t number) noexcept {
  return pool[number].next.load(std::memory_order_relaxed);
}

// Takes all messages off the head, and subtracts `taken` from its count, if there are any. Returns the
// messages oldest first, with their positions.
std::uint32_t drain(core::Node& node, MessagePool& pool, std::uint32_t taken) noexcept {
  std::uint64_t raw = node.mailbox_head.load(std::memory_order_relaxed);
  do {
    if (Head{raw}.is_closed() || Head{raw}.newest() == 0) return 0;
  } while (!node.mailbox_head.compare_exchange_weak(raw, Head{raw}.drained(taken).raw(),
                                                    std::memory_order_acq_rel, std::memory_order_relaxed));
  std::uint32_t newest_first = Head{raw}.newest();
  std::uint32_t position = node.taken.load(std::memory_order_relaxed) + Head{raw}.count();
  std::uint32_t oldest_first = 0;
  while (newest_first) {
    Cell& cell = pool[newest_first];
    const std::uint32_t next = cell.next.load(std::memory_order_relaxed);
    cell.position = position--;
    cell.next.store(oldest_first, std::memory_order_relaxed);
    oldest_first = newest_first;
    newest_first = next;
  }
  return oldest_first;
}

// Adds a message to the backlog: an urgent one after the last urgent one, a normal one at the end.
void insert(core::Node& node, MessagePool& pool, std::uint32_t number) noexcept {
  const bool urgent = pool[number].is_urgent();
  std::uint32_t before = 0;
  for (std::uint32_t at = node.backlog; at && (!urgent || pool[at].is_urgent()); at = next_of(pool, at))
    before = at;
  pool[number].next.store(before ? next_of(pool, before) : node.backlog, std::memory_order_relaxed);
  if (before)
    pool[before].next.store(number, std::memory_order_relaxed);
  else
    node.backlog = number;
}

// Adds messages, oldest first, to the backlog.
void insert_all(core::Node& node, MessagePool& pool, std::uint32_t oldest_first) noexcept {
  if (!oldest_first) return;
  if (!node.backlog && !pool.has_urgent()) {
    node.backlog = oldest_first;
    return;
  }
  std::uint32_t last = 0;  // of the backlog's normal messages, so that each is added in constant time
  for (std::uint32_t at = node.backlog; at; at = next_of(pool, at)) last = at;
  for (std::uint32_t at = oldest_first; at;) {
    const std::uint32_t number = std::exchange(at, next_of(pool, at));
    if (pool[number].is_urgent() || !last) {
      insert(node, pool, number);
      if (next_of(pool, number) == 0) last = number;
    } else {
      pool[last].next.store(number, std::memory_order_relaxed);
      pool[number].next.store(0, std::memory_order_relaxed);
      last = number;
    }
  }
}

// Called after the head's count was reduced: between the two, position() is too low, never too high.
void count_taken(core::Node& node, std::size_t count) noexcept {
  node.taken.store(node.taken.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(count),
                   std::memory_order_release);
}

void count_gone(MessagePool& pool, const Cell& cell) noexcept {
  if (cell.is_urgent()) pool.count_urgent(-1);
}

// Moves the messages of the backlog that `select(cell)` selects to the result, and subtracts them from the
// count of the head.
template <typename Select>
DroppedMessages extract(core::Node& node, MessagePool& pool, Select&& select) noexcept {
  DroppedMessages dropped;
  std::uint32_t before = 0;
  for (std::uint32_t at = node.backlog; at;) {
    const std::uint32_t number = std::exchange(at, next_of(pool, at));
    if (!select(pool[number])) {
      before = number;
      continue;
    }
    if (before)
      pool[before].next.store(at, std::memory_order_relaxed);
    else
      node.backlog = at;
    count_gone(pool, pool[number]);
    dropped.append(pool, number);
  }
  if (dropped.count() == 0) return dropped;
  node.mailbox_head.fetch_sub(Head::one * dropped.count(), std::memory_order_acq_rel);
  count_taken(node, dropped.count());
  return dropped;
}

bool is_open_in(const core::Node& node, std::uint32_t epoch) noexcept {
  const core::PackedState now = node.load();
  return now.is_open() && now.epoch() == epoch;
}

// Opens a mailbox that is closed, though the agent was open in that epoch: a resume has just happened, and
// its thread has not opened the mailbox yet. False: a later stop has closed it; its ticket is newer than the
// epoch. Ticket and epoch are compared modulo 2^21; that is exact while the agent is still open in that
// epoch.
bool open_after_resume(core::Node& node, Head closed, std::uint32_t generation,
                       std::uint32_t epoch) noexcept {
  const std::uint32_t age = (epoch - closed.ticket()) & core::PackedState::epoch_mask;
  if (age == 0 || age > core::PackedState::epoch_mask / 2 || !is_open_in(node, epoch)) return false;
  open(node, generation, closed.ticket());
  return true;
}

}  // namespace

Push push(core::Node& node, MessagePool& pool, std::uint32_t number, std::uint32_t generation,
          std::uint32_t epoch) noexcept {
  Cell& cell = pool[number];
  cell.agent.store(core::make_id(node.index, generation), std::memory_order_relaxed);
  const bool urgent = cell.is_urgent();  // read before the push: afterwards the loop owns the cell
  const std::uint32_t limit = node.mailbox_limit.load(std::memory_order_relaxed);
  std::uint64_t raw = node.mailbox_head.load(std::memory_order_acquire);
  for (;;) {
    Head head{raw};
    if (!head.belongs_to(generation)) return Push::gone;
    if (head.is_closed()) {
      if (!open_after_resume(node, head, generation, epoch)) return Push::closed;
      raw = node.mailbox_head.load(std::memory_order_acquire);
      continue;
    }
    if (head.count() >= limit) return Push::full;
    cell.next.store(head.newest(), std::memory_order_relaxed);
    if (urgent) pool.count_urgent(1);  // first, so that the loop finds the message in time
    if (node.mailbox_head.compare_exchange_weak(raw, head.pushed(number).raw(), std::memory_order_acq_rel,
                                                std::memory_order_acquire))
      return head.count() == 0 ? Push::queued_first : Push::queued;
    if (urgent) pool.count_urgent(-1);
  }
}

std::size_t length(const core::Node& node, std::uint32_t generation) noexcept {
  const Head head{node.mailbox_head.load(std::memory_order_acquire)};
  return head.belongs_to(generation) && !head.is_closed() ? head.count() : 0;
}

void collect(core::Node& node, MessagePool& pool) noexcept {
  insert_all(node, pool, drain(node, pool, 0));
}

std::uint32_t take(core::Node& node, MessagePool& pool) noexcept {
  for (;;) {
    if (pool.has_urgent()) collect(node, pool);
    if (node.backlog)
      node.mailbox_head.fetch_sub(Head::one, std::memory_order_acq_rel);
    else
      insert_all(node, pool, drain(node, pool, 1));
    const std::uint32_t number = node.backlog;
    if (!number) return 0;
    Cell& cell = pool[number];
    node.backlog = cell.next.load(std::memory_order_relaxed);
    count_taken(node, 1);
    count_gone(pool, cell);
    if (cell.belongs_to(node.id())) return number;
    pool.release(number);  // sent to an earlier agent of this slot, deleted during the push
    pool.give(number, number);
  }
}

std::uint32_t take_delegated(core::Node& node, MessagePool& pool) noexcept {
  collect(node, pool);
  std::uint32_t before = 0;
  std::uint32_t number = node.backlog;
  while (number && !(pool[number].is_delegated() && pool[number].belongs_to(node.id())))
    before = std::exchange(number, next_of(pool, number));
  if (!number) return 0;
  if (before)
    pool[before].next.store(next_of(pool, number), std::memory_order_relaxed);
  else
    node.backlog = next_of(pool, number);
  node.mailbox_head.fetch_sub(Head::one, std::memory_order_acq_rel);
  count_taken(node, 1);
  count_gone(pool, pool[number]);
  return number;
}

bool has_delegated(core::Node& node, MessagePool& pool) noexcept {
  bool has = false;
  for_each(node, pool, [&](std::uint32_t number) {
    has = has || (pool[number].is_delegated() && pool[number].belongs_to(node.id()));
  });
  return has;
}

void put_back(core::Node& node, MessagePool& pool, std::uint32_t number) noexcept {
  if (pool[number].is_urgent()) pool.count_urgent(1);
  pool[number].next.store(node.backlog, std::memory_order_relaxed);
  node.backlog = number;
  node.taken.store(node.taken.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  node.mailbox_head.fetch_add(Head::one, std::memory_order_acq_rel);
}

Push push_front(core::Node& node, MessagePool& pool, std::uint32_t number, std::uint32_t epoch) noexcept {
  const std::uint32_t generation = node.load().generation();
  const std::uint32_t limit = node.mailbox_limit.load(std::memory_order_relaxed);
  if (const Head head{node.mailbox_head.load(std::memory_order_acquire)};
      head.is_closed() && !open_after_resume(node, head, generation, epoch))
    return Push::closed;
  const std::uint32_t taken = node.taken.load(std::memory_order_relaxed);
  node.taken.store(taken - 1, std::memory_order_release);  // first: position() is never too high
  std::uint64_t raw = node.mailbox_head.load(std::memory_order_acquire);
  do {
    const bool full = Head{raw}.count() >= limit;
    if (!full && !Head{raw}.is_closed()) continue;
    node.taken.store(taken, std::memory_order_release);
    return full ? Push::full : Push::closed;
  } while (!node.mailbox_head.compare_exchange_weak(raw, raw + Head::one, std::memory_order_acq_rel,
                                                    std::memory_order_acquire));
  Cell& cell = pool[number];
  cell.agent.store(core::make_id(node.index, generation), std::memory_order_relaxed);
  cell.position = taken;
  if (cell.is_urgent()) pool.count_urgent(1);
  cell.next.store(node.backlog, std::memory_order_relaxed);
  node.backlog = number;
  return Push::queued;
}

DroppedMessages remove(core::Node& node, MessagePool& pool, std::uint32_t number) noexcept {
  return extract(node, pool, [&](const Cell& cell) { return &cell == &pool[number]; });
}

DroppedMessages clear(core::Node& node, MessagePool& pool) noexcept {
  collect(node, pool);
  return extract(node, pool, [](const Cell&) { return true; });
}

std::uint32_t position(const core::Node& node) noexcept {
  const std::uint32_t taken = node.taken.load(std::memory_order_acquire);
  return taken + Head{node.mailbox_head.load(std::memory_order_acquire)}.count();
}

DroppedMessages clear_up_to(core::Node& node, MessagePool& pool, std::uint32_t position) noexcept {
  collect(node, pool);
  return extract(node, pool, [position](const Cell& cell) {
    return static_cast<std::int32_t>(position - cell.position) >= 0;
  });
}

DroppedMessages close(core::Node& node, MessagePool& pool, std::uint32_t ticket) noexcept {
  const std::uint32_t generation = node.load(std::memory_order_relaxed).generation();
  DroppedMessages dropped;
  if (const Head now{node.mailbox_head.load(std::memory_order_relaxed)};
      !now.is_closed() && (node.backlog != 0 || now.newest() != 0))
    dropped = clear(node, pool);
  const Head before{
      node.mailbox_head.exchange(Head::closed(generation, ticket).raw(), std::memory_order_acq_rel)};
  if (before.is_closed() || before.newest() == 0) return dropped;
  // Pushed between the two.
  std::uint32_t newest_first = before.newest();
  std::uint32_t oldest_first = 0;
  while (newest_first) {
    const std::uint32_t number = std::exchange(newest_first, next_of(pool, newest_first));
    pool[number].next.store(oldest_first, std::memory_order_relaxed);
    oldest_first = number;
  }
  DroppedMessages late;
  while (oldest_first) {
    const std::uint32_t number = std::exchange(oldest_first, next_of(pool, oldest_first));
    count_gone(pool, pool[number]);
    late.append(pool, number);
  }
  count_taken(node, late.count());
  dropped.append(std::move(late));
  return dropped;
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
