// PackedState: the one atomic 64-bit value of an agent. All its parts change in one atomic step.
#pragma once

#include <agentcore/agent_state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace agentcore::detail::core {

// The admissions that a gate refuses. A closed gate refuses every admission of its agent (G1); `stop_tree`
// and `terminate` refuse the whole subtree too, because an admission checks the ancestors.
enum class Gate : std::uint8_t {
  open,
  stop_self,  // stopped without its children
  stop_tree,
  terminate,
};

// A deferred stop that is pending: it has not closed the gate yet.
enum class Grade : std::uint8_t {
  none,        // no such stop
  after_turn,  // no turn begins
  after_step,  // no turn and no step begins
};

// The layout, from the low end (docs/design/packed-state.md).
//
// | field      | bits | meaning                                                                            |
// | ---------- | ---- | ---------------------------------------------------------------------------------- |
// | state      |    3 | AgentState, or 7: the slot is free                                                 |
// | gate       |    2 | Gate                                                                               |
// | stop_grade |    2 | Grade                                                                              |
// | pause      |    1 | nothing begins in the subtree; what runs goes on                                   |
// | lease      |    1 | an admission compares the clock with the lease of the subtree (Leases)             |
// | hold       |    1 | the mailbox accepts messages, and none is taken                                    |
// | interrupted|    1 | the last turn was ended by an interrupt, and not by an abort                       |
// | epoch      |   21 | counts turns, and the verbs that end them or close and open the gate, modulo 2^21  |
// | generation |   32 | distinguishes the agent from earlier agents of the same slot                       |
namespace layout {

struct Field {
  unsigned shift;
  unsigned bits;
  constexpr std::uint64_t mask() const noexcept { return ((std::uint64_t{1} << bits) - 1) << shift; }
  constexpr std::uint64_t of(std::uint64_t raw) const noexcept { return (raw & mask()) >> shift; }
  constexpr std::uint64_t in(std::uint64_t value) const noexcept { return value << shift & mask(); }
};

inline constexpr Field state{0, 3};
inline constexpr Field gate{3, 2};
inline constexpr Field stop_grade{5, 2};
inline constexpr Field pause{7, 1};
inline constexpr Field lease{8, 1};
inline constexpr Field hold{9, 1};
inline constexpr Field interrupted{10, 1};
inline constexpr Field epoch{11, 21};
inline constexpr Field generation{32, 32};

inline constexpr std::array fields{state, gate,        stop_grade, pause,     lease,
                                   hold,  interrupted, epoch,      generation};

constexpr bool fills_64_bits() noexcept {
  unsigned next = 0;
  for (const Field& field : fields) {
    if (field.shift != next) return false;
    next += field.bits;
  }
  return next == 64;
}
static_assert(fills_64_bits());

}  // namespace layout

// A value of Node::packed.
//
// The generation distinguishes an agent from earlier agents of the same slot. The beginning of a turn and
// every abort, interrupt, stop, terminate and resume increment the epoch: so each turn has an epoch of its
// own, a result with an older epoch is detected as late (F6), and a verb that has read one turn never ends
// the next one.
//
// Why 21 bits of epoch are enough. (1) Within one turn the epoch changes at most twice, by an abort or an
// interrupt, and by a stop or delete, because the agent is opened again only after the loop has ended the
// turn; so the epoch of a turn's result cannot wrap around within the turn (model: `interrupt` in
// tests/model/loop.pml). (2) A compare-and-set that succeeds after a wrap has compared the complete value, so
// its decision is still right. (3) Wherever a value read earlier is used without comparing all of it, it is
// compared again for equality just before the write (mailbox::push()), so that an error requires a thread
// that sleeps for exactly 2^21 epochs between two instructions.
class PackedState {
 public:
  static constexpr std::uint32_t epoch_mask = (1U << layout::epoch.bits) - 1;

  constexpr explicit PackedState(std::uint64_t raw = free_state) noexcept : raw_(raw) {}
  constexpr PackedState(std::uint32_t generation, std::uint32_t epoch, Gate gate, AgentState state) noexcept
      : raw_(layout::generation.in(generation) | layout::epoch.in(epoch) |
             layout::gate.in(static_cast<std::uint8_t>(gate)) |
             layout::state.in(static_cast<std::uint8_t>(state))) {}

  constexpr std::uint64_t raw() const noexcept { return raw_; }
  constexpr std::uint32_t generation() const noexcept { return get(layout::generation); }
  constexpr std::uint32_t epoch() const noexcept { return get(layout::epoch); }
  constexpr Gate gate() const noexcept { return static_cast<Gate>(get(layout::gate)); }
  constexpr AgentState state() const noexcept { return static_cast<AgentState>(get(layout::state)); }
  constexpr bool is_free() const noexcept { return get(layout::state) == free_state; }
  constexpr bool is_open() const noexcept { return gate() == Gate::open; }
  // The gate is open, and no deferred stop is pending.
  constexpr bool has_no_stop() const noexcept {
    return (raw_ & (layout::gate.mask() | layout::stop_grade.mask())) == 0;
  }
  // No message is taken from the mailbox.
  constexpr bool is_held() const noexcept { return get(layout::hold) != 0; }
  // The last turn was ended by an interrupt.
  constexpr bool was_interrupted() const noexcept { return get(layout::interrupted) != 0; }
  constexpr Grade stop_grade() const noexcept { return static_cast<Grade>(get(layout::stop_grade)); }
  // Paused by a verb of its own; its ancestors may be, too.
  constexpr bool is_paused() const noexcept { return get(layout::pause) != 0; }
  // The agent has a lease of its own.
  constexpr bool has_lease() const noexcept { return get(layout::lease) != 0; }
  // Closed for the subtree below.
  constexpr bool closes_subtree() const noexcept { return gate() >= Gate::stop_tree; }

  // Copies with one part replaced.
  constexpr PackedState with(AgentState state) const noexcept {
    return set(layout::state, static_cast<std::uint8_t>(state));
  }
  constexpr PackedState with(Gate gate) const noexcept {
    return set(layout::gate, static_cast<std::uint8_t>(gate));
  }
  constexpr PackedState with(Grade grade) const noexcept {
    return set(layout::stop_grade, static_cast<std::uint8_t>(grade));
  }
  constexpr PackedState with(layout::Field flag, bool on) const noexcept { return set(flag, on ? 1 : 0); }
  constexpr PackedState next_epoch() const noexcept { return set(layout::epoch, epoch() + 1); }
  // The slot after its agent was removed: no handle has this generation.
  constexpr PackedState freed() const noexcept {
    return PackedState{layout::generation.in(std::uint64_t{generation()} + 1) | free_state};
  }

  friend constexpr bool operator==(PackedState, PackedState) noexcept = default;

 private:
  static constexpr std::uint64_t free_state = 7;

  constexpr std::uint32_t get(layout::Field field) const noexcept {
    return static_cast<std::uint32_t>(field.of(raw_));
  }
  constexpr PackedState set(layout::Field field, std::uint64_t value) const noexcept {
    return PackedState{(raw_ & ~field.mask()) | field.in(value)};
  }

  std::uint64_t raw_;
};

// True for the agent of that generation, open in that epoch. `clear`: further bits that must be 0. It is one
// comparison because every admission begins with it.
constexpr bool admits_by_itself(PackedState packed, std::uint32_t generation, std::uint32_t epoch,
                                std::uint64_t clear = 0) noexcept {
  static_assert(static_cast<int>(Gate::open) == 0 && static_cast<int>(Grade::none) == 0);
  const std::uint64_t expected = layout::generation.in(generation) | layout::epoch.in(epoch);
  const std::uint64_t compared =
      layout::generation.mask() | layout::epoch.mask() | layout::gate.mask() | clear;
  return (packed.raw() & compared) == expected && !packed.is_free();
}

}  // namespace agentcore::detail::core
