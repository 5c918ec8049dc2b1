// Word: the one atomic word of an agent. Generation, epoch, gate and state change together or not at all.
#pragma once

#include <agentcore/agent_state.hpp>

#include <cstdint>

namespace agentcore::core {

// Who may pass. A closed gate refuses every admission (G1); `stop_tree` and `terminate` refuse it for the
// whole subtree too, because admission looks up through the ancestors.
enum class Gate : std::uint8_t {
  open,
  stop_self,  // stopped without its children
  stop_tree,
  terminate,
};

// A value of the word. From the low end: state (3 bits), gate (2), epoch (27), generation (32).
//
// The generation tells a recycled slot from the agent that lay there before. The epoch grows with every
// abort, stop, terminate and resume, so that a result carrying an older one is known to be late (F6).
class Word {
 public:
  static constexpr std::uint32_t epoch_mask = (1U << 27) - 1;

  constexpr explicit Word(std::uint64_t raw = free_state) noexcept : raw_(raw) {}
  constexpr Word(std::uint32_t generation, std::uint32_t epoch, Gate gate, AgentState state) noexcept
      : raw_(std::uint64_t{generation} << 32 | std::uint64_t{epoch & epoch_mask} << 5 |
             std::uint64_t{static_cast<std::uint8_t>(gate)} << 3 | static_cast<std::uint8_t>(state)) {}

  constexpr std::uint64_t raw() const noexcept { return raw_; }
  constexpr std::uint32_t generation() const noexcept { return static_cast<std::uint32_t>(raw_ >> 32); }
  constexpr std::uint32_t epoch() const noexcept {
    return static_cast<std::uint32_t>(raw_ >> 5) & epoch_mask;
  }
  constexpr Gate gate() const noexcept { return static_cast<Gate>(raw_ >> 3 & 3); }
  constexpr AgentState state() const noexcept { return static_cast<AgentState>(raw_ & 7); }
  constexpr bool is_free() const noexcept { return (raw_ & 7) == free_state; }
  constexpr bool is_open() const noexcept { return gate() == Gate::open; }
  // Closed for what lies below.
  constexpr bool closes_subtree() const noexcept { return gate() >= Gate::stop_tree; }

  constexpr Word with(AgentState state) const noexcept { return Word{generation(), epoch(), gate(), state}; }
  constexpr Word with(Gate gate) const noexcept { return Word{generation(), epoch(), gate, state()}; }
  constexpr Word next_epoch() const noexcept { return Word{generation(), epoch() + 1, gate(), state()}; }
  // The slot after its agent is gone: nobody's, and no handle's generation fits any more.
  constexpr Word freed() const noexcept { return Word{(std::uint64_t{generation() + 1} << 32) | free_state}; }

  friend constexpr bool operator==(Word, Word) noexcept = default;

 private:
  static constexpr std::uint64_t free_state = 7;
  std::uint64_t raw_;
};

}  // namespace agentcore::core
