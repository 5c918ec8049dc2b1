#include "mailbox/mailbox.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace agentcore::detail::mailbox {
namespace {

std::uint32_t next_of(MessagePool& pool, std::uint32_t number) noexcept {
  return pool[number].next.load(std::memory_order_relaxed);
}

// The number of messages ever pushed to an open mailbox. @loop_thread
std::uint32_t pushed(const core::Node& node, Head head) noexcept {
  const std::uint32_t taken = node.taken.load(std::memory_order_relaxed);
  return taken + head.length(taken);
}

// Takes all messages off the head. Returns them oldest first, with their positions.
std::uint32_t drain(core::Node& node, MessagePool& pool) noexcept {
  std::uint64_t raw = node.mailbox_head.load(std::memory_order_relaxed);
  do {
    if (Head{raw}.is_closed() || Head{raw}.newest() == 0) return 0;
  } while (!node.mailbox_head.compare_exchange_weak(raw, Head{raw}.drained().raw(), std::memory_order_acq_rel,
                                                    std::memory_order_relaxed));
  std::uint32_t newest_first = Head{raw}.newest();
  std::uint32_t position = pushed(node, Head{raw});
  std::uint32_t oldest_first = 0;
  while (newest_first) {
    Cell& cell = pool[newest_first];
    const std::uint32_t next = cell.next.load(std::memory_order_relaxed);
    pool.prefetch(next + 4 * (next - newest_first));  // cells that are sent in a row often lie in a row
    cell.position.store(position--, std::memory_order_relaxed);
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

// Counts messages that have left the mailbox. Afterwards the loop looks for further messages, and a sender
// that finds the old count must have pushed before that. `order`: seq_cst, unless the loop looks again after
// ReadyAgents::done().
void count_taken(core::Node& node, std::size_t count,
                 std::memory_order order = std::memory_order_seq_cst) noexcept {
  node.taken.store(node.taken.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(count), order);
}

void count_gone(MessagePool& pool, const Cell& cell) noexcept {
  if (cell.is_urgent()) pool.count_urgent(-1);
}

// Moves the messages of the backlog that `select(cell)` selects to the result.
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
  if (dropped.count() != 0) count_taken(node, dropped.count());
  return dropped;
}

constexpr std::uint32_t no_limit_of_messages = Head::longest;

// True if the mailbox takes no further message. If `taken` is newer than `head`, it may be false that it
// does.
bool is_full(const core::Node& node, const MessagePool& pool, const ClearedMessages& cleared, Head head,
             std::uint32_t limit) noexcept {
  constexpr std::uint32_t least_room = 1024;  // for dropped messages
  const auto all = [&] { return head.length(node.taken.load(std::memory_order_acquire)); };
  if (all() < limit) return false;
  // The loop may have taken dropped messages out since: it counts them as taken first, and then forgets them.
  if (cleared.empty()) return all() >= limit;
  if (all() >= limit + std::max(limit, least_room)) return true;
  return cleared.left(pool, node.id(), [&] {
    const std::uint32_t taken = node.taken.load(std::memory_order_acquire);
    return ClearedMessages::Mailbox{head.length(taken), taken + head.length(taken)};
  }) >= limit;
}

// Counts a message as pushed that the caller puts in front of the backlog. `queued`: it did, and the message
// has that position. All others are in the backlog then, because their positions depend on the count.
Push add_place(core::Node& node, MessagePool& pool, const ClearedMessages* cleared, std::uint32_t limit,
               std::uint32_t& position) noexcept {
  for (;;) {
    collect(node, pool);
    std::uint64_t raw = node.mailbox_head.load(std::memory_order_acquire);
    const Head head{raw};
    if (head.is_closed()) return Push::closed;
    if (cleared ? is_full(node, pool, *cleared, head, limit)
                : head.length(node.taken.load(std::memory_order_relaxed)) >= limit)
      return Push::full;
    position = pushed(node, head) + 1;
    if (head.newest() == 0 &&
        node.mailbox_head.compare_exchange_strong(raw, head.pushed(0).raw(), std::memory_order_acq_rel))
      return Push::queued;
  }
}

// After a push to a mailbox that had `before`: true if the agent must be scheduled. If it is in a ready list,
// the loop looks at the mailbox again when it has taken the agent out: ReadyAgents::done().
bool is_first(const core::Node& node, Head before) noexcept {
  return !node.scheduled.load(std::memory_order_seq_cst) &&
         before.length(node.taken.load(std::memory_order_seq_cst)) == 0;
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

Push push(core::Node& node, MessagePool& pool, const ClearedMessages& cleared, std::uint32_t number,
          std::uint32_t generation, std::uint32_t epoch) noexcept {
  Cell& cell = pool[number];
  cell.agent.store(core::make_id(node.index, generation), std::memory_order_relaxed);
  const bool urgent = cell.is_urgent();  // read before the push: afterwards the loop owns the cell
  const std::uint32_t limit = node.mailbox_limit.load(std::memory_order_relaxed);
  const std::uint32_t taken = node.taken.load(std::memory_order_acquire);  // as in position()
  std::uint64_t raw = node.mailbox_head.load(std::memory_order_acquire);
  for (;;) {
    Head head{raw};
    if (!head.belongs_to(generation)) return Push::gone;
    if (head.is_closed()) {
      if (!open_after_resume(node, head, generation, epoch)) return Push::closed;
      raw = node.mailbox_head.load(std::memory_order_acquire);
      continue;
    }
    if (is_full(node, pool, cleared, head, limit)) {
      // If `taken` is newer than the head, it may count messages that the head does not.
      const std::uint64_t now = node.mailbox_head.load(std::memory_order_acquire);
      if (std::exchange(raw, now) == now) return Push::full;
      continue;
    }
    cell.next.store(head.newest(), std::memory_order_relaxed);
    cell.position.store(taken + head.length(taken) + 1, std::memory_order_relaxed);
    if (urgent) pool.count_urgent(1);  // first, so that the loop finds the message in time
    if (node.mailbox_head.compare_exchange_weak(raw, head.pushed(number).raw(), std::memory_order_seq_cst,
                                                std::memory_order_acquire))
      return is_first(node, head) ? Push::queued_first : Push::queued;
    if (urgent) pool.count_urgent(-1);
  }
}

// `taken` may be newer than the head, unless the head is the same before and after.
std::size_t length(const core::Node& node, std::uint32_t generation) noexcept {
  std::uint64_t raw = node.mailbox_head.load(std::memory_order_seq_cst);
  for (;;) {
    const Head head{raw};
    if (!head.belongs_to(generation) || head.is_closed()) return 0;
    const std::uint32_t taken = node.taken.load(std::memory_order_acquire);
    const std::uint64_t now = node.mailbox_head.load(std::memory_order_acquire);
    if (std::exchange(raw, now) == now) return head.length(taken);
  }
}

void collect(core::Node& node, MessagePool& pool) noexcept {
  insert_all(node, pool, drain(node, pool));
}

std::uint32_t take(core::Node& node, MessagePool& pool) noexcept {
  for (;;) {
    if (!node.backlog || pool.has_urgent()) collect(node, pool);
    const std::uint32_t number = node.backlog;
    if (!number) return 0;
    Cell& cell = pool[number];
    node.backlog = cell.next.load(std::memory_order_relaxed);
    count_taken(node, 1, std::memory_order_release);
    count_gone(pool, cell);
    if (cell.belongs_to(node.id())) return number;
    pool.release(number);  // sent to an earlier agent of this slot, deleted during the push
    pool.give(number, number);
  }
}

std::uint32_t front(core::Node& node, MessagePool& pool) noexcept {
  collect(node, pool);
  std::uint32_t number = node.backlog;
  while (number && !pool[number].belongs_to(node.id())) number = next_of(pool, number);
  return number;
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
  std::uint32_t unused = 0;  // it keeps its position
  [[maybe_unused]] const Push added = add_place(node, pool, nullptr, no_limit_of_messages, unused);
  assert(added == Push::queued);  // only the loop closes a mailbox, and the message was taken out of this one
  if (pool[number].is_urgent()) pool.count_urgent(1);
  pool[number].next.store(node.backlog, std::memory_order_relaxed);
  node.backlog = number;
}

Push push_front(core::Node& node, MessagePool& pool, ClearedMessages& cleared, std::uint32_t number,
                std::uint32_t epoch, std::uint64_t sent_at) noexcept {
  const std::uint32_t generation = node.load().generation();
  if (const Head head{node.mailbox_head.load(std::memory_order_acquire)};
      head.is_closed() && !open_after_resume(node, head, generation, epoch))
    return Push::closed;
  std::uint32_t position = 0;
  const Push added =
      add_place(node, pool, &cleared, node.mailbox_limit.load(std::memory_order_relaxed), position);
  if (added != Push::queued) return added;
  Cell& cell = pool[number];
  cell.agent.store(core::make_id(node.index, generation), std::memory_order_relaxed);
  cell.position.store(cleared.place_in_front(node.id(), sent_at, position), std::memory_order_relaxed);
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
  const std::uint32_t taken = node.taken.load(std::memory_order_acquire);  // first, so that it is not newer
  const Head head{node.mailbox_head.load(std::memory_order_acquire)};
  return head.is_closed() ? taken : taken + head.length(taken);
}

DroppedMessages clear_up_to(core::Node& node, MessagePool& pool, std::uint32_t position) noexcept {
  collect(node, pool);
  return extract(node, pool, [position](const Cell& cell) {
    return static_cast<std::int32_t>(position - cell.position.load(std::memory_order_relaxed)) >= 0;
  });
}

DroppedMessages close(core::Node& node, MessagePool& pool, std::uint32_t ticket) noexcept {
  const std::uint32_t generation = node.load(std::memory_order_relaxed).generation();
  DroppedMessages dropped;
  if (const Head now{node.mailbox_head.load(std::memory_order_relaxed)};
      !now.is_closed() && (node.backlog != 0 || now.newest() != 0))
    dropped = clear(node, pool);
  std::uint64_t raw = node.mailbox_head.load(std::memory_order_acquire);
  do {  // `taken` first: while the mailbox is closed it counts all messages that were pushed
    if (!Head{raw}.is_closed()) node.taken.store(pushed(node, Head{raw}), std::memory_order_release);
  } while (!node.mailbox_head.compare_exchange_weak(raw, Head::closed(generation, ticket).raw(),
                                                    std::memory_order_acq_rel, std::memory_order_acquire));
  if (Head{raw}.is_closed() || Head{raw}.newest() == 0) return dropped;
  // Pushed between the two.
  std::uint32_t newest_first = Head{raw}.newest();
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
  dropped.append(std::move(late));
  return dropped;
}

bool is_closed(const core::Node& node, std::uint32_t generation, std::uint32_t ticket) noexcept {
  return node.mailbox_head.load(std::memory_order_acquire) == Head::closed(generation, ticket).raw();
}

void open(core::Node& node, std::uint32_t generation, std::uint32_t ticket) noexcept {
  std::uint64_t expected = Head::closed(generation, ticket).raw();
  if (node.mailbox_head.load(std::memory_order_acquire) != expected) return;  // read before `taken`
  const Head empty = Head::open(generation, node.taken.load(std::memory_order_relaxed));
  node.mailbox_head.compare_exchange_strong(expected, empty.raw(), std::memory_order_acq_rel);
}

}  // namespace agentcore::detail::mailbox

std::string agentcore::to_string(MessageId id) {
  return id ? "m" + std::to_string(id.value) : std::string();
}
