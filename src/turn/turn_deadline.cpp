#include "turn/turn_deadline.hpp"

#include "loop/time.hpp"

#include <agentcore/no_limit.hpp>

#include <chrono>

namespace agentcore::detail::turn {

std::optional<TurnDeadline> deadline_of(const AgentSpec& spec, TimePoint of_message,
                                        const loop::Engine& engine) noexcept {
  if (spec.limits.turn_timeout == no_limit && of_message == no_limit) return std::nullopt;
  const TimePoint now = engine.now();
  const TimePoint of_agent = loop::later(now, spec.limits.turn_timeout);
  if (of_agent < of_message)
    return TurnDeadline{of_agent, now, TurnDeadline::Limit::turn_timeout, &engine.clock()};
  if (of_message == no_limit) return std::nullopt;
  return TurnDeadline{of_message, now, TurnDeadline::Limit::message, &engine.clock()};
}

std::string text_of(const TurnDeadline& deadline) {
  const std::string after = text_of(deadline.when - deadline.begun);
  if (deadline.limit == TurnDeadline::Limit::turn_timeout)
    return "the turn took longer than AgentSpec::limits.turn_timeout (" + after +
           "); if turns may take longer, set a longer one";
  return "the turn was not over at SendOptions::deadline (" + after +
         " after it began); if it may take longer, set a later one";
}

std::string text_of(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace agentcore::detail::turn
