// TurnDeadline: the time at which a turn ends by itself.
#pragma once

#include "loop/engine.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/runtime.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace agentcore::detail::turn {

// The time of one turn. Turns without a deadline have none, and never read the clock.
struct TurnDeadline {
  enum class Limit : std::uint8_t {
    turn_timeout,  // AgentLimits::turn_timeout
    message,       // SendOptions::deadline
  };

  TimePoint when;
  TimePoint begun;  // when the turn began
  Limit limit;      // the one that is reached first
  const Clock* clock;
  Timer timer = {};

  bool has_passed() const noexcept { return clock->now() >= when; }
};

// The deadline of a turn that begins now: the earlier one of its agent and its message, which may be
// no_limit. Nothing: neither has a limit.
std::optional<TurnDeadline> deadline_of(const AgentSpec& spec, TimePoint of_message,
                                        const loop::Engine& engine) noexcept;

// Why a turn has ended at its deadline, for its result.
std::string text_of(const TurnDeadline& deadline);

// "90 s", "1500 ms".
std::string text_of(Duration duration);

}  // namespace agentcore::detail::turn
