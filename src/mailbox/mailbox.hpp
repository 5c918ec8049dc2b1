// Mailbox: an agent's queue of messages. Any thread pushes, the loop thread takes; a push fails when the
// mailbox is closed.
#pragma once

#include "core/node.hpp"
#include "mailbox/cleared_messages.hpp"
#include "mailbox/message_pool.hpp"

#include <cstddef>
#include <cstdint>

namespace agentcore::detail::mailbox {

// A value of Node::mailbox_head. Open: the newest cell that the loop has not collected (27 bits), the number
// of messages that were ever pushed, modulo 2^17, a 0, and the low 19 bits of the generation. Closed: the
// ticket, which is the epoch in which it was closed (21 bits), a 1 and the generation.
//
// One compare-and-set of this value is the whole push: it fails when the mailbox was closed, filled or reused
// by another agent meanwhile, so no message can be left behind in a closed mailbox (G12, F1). With the
// ticket, a resume, or a sender right after it, opens exactly the head that it found, never one that a later
// stop has closed again.
//
// The loop takes a message without a write to the head, with which it would disturb the senders: it counts
// the message in Node::taken, and `pushed - taken` messages wait (model: tests/model/mailbox.pml). While the
// mailbox is closed the two are equal; the next opening takes the low bits of `taken` for `pushed`.
class Head {
 public:
  static constexpr std::uint64_t closed_bit = std::uint64_t{1} << 44;
  static constexpr std::uint32_t longest = 0x1'ffff;  // see length()

  constexpr explicit Head(std::uint64_t raw) noexcept : raw_(raw) {}
  // Empty, if so many messages were taken before.
  static constexpr Head open(std::uint32_t generation, std::uint32_t taken) noexcept {
    return Head{tag(generation) | (std::uint64_t{taken} << pushed_shift & pushed_mask)};
  }
  static constexpr Head closed(std::uint32_t generation, std::uint32_t ticket) noexcept {
    return Head{tag(generation) | closed_bit | ticket};
  }

  constexpr std::uint64_t raw() const noexcept { return raw_; }
  constexpr bool is_closed() const noexcept { return (raw_ & closed_bit) != 0; }
  constexpr bool belongs_to(std::uint32_t generation) const noexcept {
    return raw_ >> 45 == tag(generation) >> 45;
  }
  constexpr std::uint32_t newest() const noexcept { return static_cast<std::uint32_t>(raw_ & newest_mask); }
  // Of an open mailbox: the number of messages in it, if so many were taken. It is below 2^17: the largest
  // AgentLimits::mailbox is 65,000, as many may be dropped and not taken out yet, and one that was put
  // back may exceed that.
  constexpr std::uint32_t length(std::uint32_t taken) const noexcept {
    return (static_cast<std::uint32_t>(raw_ >> pushed_shift) - taken) & longest;
  }
  constexpr std::uint32_t ticket() const noexcept {
    return static_cast<std::uint32_t>(raw_) & core::PackedState::epoch_mask;
  }

  // With one more message, which is `newest`; 0: the loop has it already.
  constexpr Head pushed(std::uint32_t newest) const noexcept {
    constexpr std::uint64_t one = std::uint64_t{1} << pushed_shift;
    return Head{(raw_ & ~(newest_mask | pushed_mask)) | ((raw_ + one) & pushed_mask) | newest};
  }
  // Without the list of messages, which the loop has collected.
  constexpr Head drained() const noexcept { return Head{raw_ & ~newest_mask}; }

 private:
  static constexpr unsigned pushed_shift = 27;
  static constexpr std::uint64_t newest_mask = MessagePool::max_cells;
  static constexpr std::uint64_t pushed_mask = std::uint64_t{longest} << pushed_shift;
  static_assert(newest_mask >> pushed_shift == 0 && (pushed_mask & closed_bit) == 0);
  static constexpr std::uint64_t tag(std::uint32_t generation) noexcept {
    return std::uint64_t{generation} << 45;
  }
  std::uint64_t raw_;
};

enum class Push : std::uint8_t { queued, queued_first, full, closed, gone };

// Puts `cell` into the mailbox. `queued_first`: it was empty and the agent is in no ready list, so the agent
// has to be scheduled. `epoch` is the epoch of the open agent that the sender has read: a mailbox that was
// closed in an earlier epoch is opened first. `closed`: the sender has to check the gates again. On any
// result except queued and queued_first the caller still owns the cell.
//
// Messages that a verb has dropped do not count for the limit, although the loop has not taken them out yet.
// That many are in the mailbox beside the others: as many as the limit, but at least 1,024. @threadsafe
Push push(core::Node& node, MessagePool& pool, const ClearedMessages& cleared, std::uint32_t cell,
          std::uint32_t generation, std::uint32_t epoch) noexcept;

// Moves the messages that were pushed since the last call to the backlog of the node, which is in the order
// of taking. @loop_thread
void collect(core::Node& node, MessagePool& pool) noexcept;

// The number of messages in the mailbox, also of those that a verb has dropped. @threadsafe
std::size_t length(const core::Node& node, std::uint32_t generation) noexcept;

// The cell of the next message, or 0: the oldest urgent one, or else the oldest. The caller releases the cell
// and gives it back to the pool. @loop_thread
std::uint32_t take(core::Node& node, MessagePool& pool) noexcept;
// The cell that take() would return, which stays in the mailbox. @loop_thread
std::uint32_t front(core::Node& node, MessagePool& pool) noexcept;
// As take(), of the messages that are delegated (Cell::is_delegated). @loop_thread
std::uint32_t take_delegated(core::Node& node, MessagePool& pool) noexcept;
// True if one of the messages is. @loop_thread
bool has_delegated(core::Node& node, MessagePool& pool) noexcept;
// Puts the message of that cell back, which was the last one taken: it is the next one again. @loop_thread
void put_back(core::Node& node, MessagePool& pool, std::uint32_t number) noexcept;

// Puts the message of that cell in front of all others. `epoch`: the present one of the open agent.
// `sent_at`: ClearedMessages::count() when it was sent; a verb that came later has dropped it. On any result
// except queued the caller still owns the cell. @loop_thread
Push push_front(core::Node& node, MessagePool& pool, ClearedMessages& cleared, std::uint32_t number,
                std::uint32_t epoch, std::uint64_t sent_at) noexcept;

// The cells of the waiting messages, the next one first: calls visit(number) for each. @loop_thread
template <typename Visit>
void for_each(core::Node& node, MessagePool& pool, Visit&& visit) {
  collect(node, pool);
  for (std::uint32_t at = node.backlog; at; at = pool[at].next.load(std::memory_order_relaxed)) visit(at);
}

// The number of messages ever pushed, modulo 2^32: the end of the mailbox in the sequence of its messages.
// One that was put back counts again. @threadsafe
std::uint32_t position(const core::Node& node) noexcept;

// These three remove messages. Afterwards the caller looks whether others are left, and if so makes the agent
// ready: a sender that pushed meanwhile may have found messages that were about to be removed, and then does
// not schedule the agent.

// Removes the message of that cell, which must wait in this mailbox. @loop_thread
DroppedMessages remove(core::Node& node, MessagePool& pool, std::uint32_t number) noexcept;
// Removes all messages. @loop_thread
DroppedMessages clear(core::Node& node, MessagePool& pool) noexcept;

// Removes the messages up to that position; later ones stay. @loop_thread
DroppedMessages clear_up_to(core::Node& node, MessagePool& pool, std::uint32_t position) noexcept;

// Closes the mailbox with this ticket (final for its epoch) and removes all messages. @loop_thread
DroppedMessages close(core::Node& node, MessagePool& pool, std::uint32_t ticket) noexcept;

// True when the mailbox was closed with this ticket, and not opened since. @threadsafe
bool is_closed(const core::Node& node, std::uint32_t generation, std::uint32_t ticket) noexcept;
// True if the stop or delete that led to `packed` has settled: the mailbox was closed with its epoch.
// @threadsafe
inline bool is_settled(const core::Node& node, core::PackedState packed) noexcept {
  return is_closed(node, packed.generation(), packed.epoch());
}

// Opens the mailbox that was closed with this ticket; does nothing if it was opened or closed since.
// @threadsafe
void open(core::Node& node, std::uint32_t generation, std::uint32_t ticket) noexcept;

}  // namespace agentcore::detail::mailbox
