// Mailbox: an agent's queue of messages. Anyone pushes, the loop takes; the door is part of the push.
#pragma once

#include "core/node.hpp"
#include "mailbox/message_pool.hpp"

#include <cstddef>
#include <cstdint>

namespace agentcore::mailbox {

// A value of Node::door. Open: the newest cell (28 bits), how many messages wait, drained ones included (16
// bits), a 0, and the low 19 bits of the generation. Closed: the ticket, which is the epoch in which it was
// closed (27 bits), a 1 and the generation.
//
// One compare-and-set of this value is the whole push: it fails when the mailbox was closed, filled or handed
// to another agent meanwhile, so a message can never be left behind closed doors (G12, F1). The ticket lets a
// resume, or a sender that comes right after it, open exactly the door that it found, never one that a later
// stop has closed again.
class Door {
 public:
  static constexpr std::uint64_t closed_bit = std::uint64_t{1} << 44;

  constexpr explicit Door(std::uint64_t raw) noexcept : raw_(raw) {}
  static constexpr Door open(std::uint32_t generation) noexcept { return Door{tag(generation)}; }
  static constexpr Door closed(std::uint32_t generation, std::uint32_t ticket) noexcept {
    return Door{tag(generation) | closed_bit | ticket};
  }

  constexpr std::uint64_t raw() const noexcept { return raw_; }
  constexpr bool is_closed() const noexcept { return (raw_ & closed_bit) != 0; }
  constexpr bool belongs_to(std::uint32_t generation) const noexcept {
    return raw_ >> 45 == tag(generation) >> 45;
  }
  constexpr std::uint32_t newest() const noexcept { return static_cast<std::uint32_t>(raw_) & 0x0fff'ffff; }
  constexpr std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(raw_ >> 28) & 0xffff; }
  constexpr std::uint32_t ticket() const noexcept {
    return static_cast<std::uint32_t>(raw_) & core::Word::epoch_mask;
  }

  static constexpr std::uint64_t one = std::uint64_t{1} << 28;
  // With one more message on top.
  constexpr Door pushed(std::uint32_t cell) const noexcept {
    return Door{((raw_ & ~newest_mask) + one) | cell};
  }
  // With the stack taken away, and the count kept but for `taken`.
  constexpr Door drained(std::uint32_t taken) const noexcept {
    return Door{(raw_ & ~newest_mask) - one * taken};
  }

 private:
  static constexpr std::uint64_t newest_mask = 0x0fff'ffff;
  static constexpr std::uint64_t tag(std::uint32_t generation) noexcept {
    return std::uint64_t{generation} << 45;
  }
  std::uint64_t raw_;
};

enum class Push : std::uint8_t { queued, queued_first, full, closed, gone };

// Puts `cell` into the mailbox. `queued_first`: it was empty, so the agent has to be scheduled. `epoch` is
// that of the open word which the sender saw: a door closed in an earlier epoch is opened on the way. On any
// other answer than queued the cell is still the caller's. @threadsafe
Push push(core::Node& node, MessagePool& pool, std::uint32_t cell, std::uint32_t generation,
          std::uint32_t epoch) noexcept;

// Messages waiting. @threadsafe
std::size_t length(const core::Node& node, std::uint32_t generation) noexcept;

// The oldest message's cell, or 0. The caller gives it back to the pool. @loop_thread
std::uint32_t take(core::Node& node, MessagePool& pool) noexcept;

// Drops all messages; how many. @loop_thread
std::size_t clear(core::Node& node, MessagePool& pool) noexcept;

// Where in the endless row of its messages the mailbox ends now. Exact while the loop does not take any, as
// during a turn. @threadsafe
std::uint32_t position(const core::Node& node) noexcept;

// Drops the messages up to that position; later ones stay. @loop_thread
std::size_t clear_up_to(core::Node& node, MessagePool& pool, std::uint32_t position) noexcept;

// Closes the door for good (of this epoch) and drops all messages; how many. @loop_thread
std::size_t close(core::Node& node, MessagePool& pool, std::uint32_t ticket) noexcept;

// True when the door is the one that was closed with this ticket. @threadsafe
bool is_closed(const core::Node& node, std::uint32_t generation, std::uint32_t ticket) noexcept;

// Opens the door that was closed with this ticket; does nothing if it is another one by now. @threadsafe
void open(core::Node& node, std::uint32_t generation, std::uint32_t ticket) noexcept;

}  // namespace agentcore::mailbox
