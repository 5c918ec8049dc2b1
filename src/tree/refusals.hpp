// The reasons with which a message or a verb is refused, by the effective state of the agent.
#pragma once

#include <agentcore/agent_state.hpp>
#include <agentcore/error.hpp>

namespace agentcore::detail::tree {

// The reason of a verb that found the agent in that state, which cannot process (C20).
constexpr Errc verb_reason_of(AgentState state) noexcept {
  switch (state) {
    case AgentState::stopping:
      return Errc::stopping;
    case AgentState::stopped:
      return Errc::stopped;
    default:
      return Errc::terminating;
  }
}

// The reason of a message to an agent in that effective state (G12).
constexpr Errc send_reason_of(AgentState state) noexcept {
  switch (state) {
    case AgentState::stopping:
      return Errc::agent_stopping;
    case AgentState::stopped:
      return Errc::agent_stopped;
    default:
      return Errc::agent_terminating;
  }
}

}  // namespace agentcore::detail::tree
