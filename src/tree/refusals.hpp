// The reason with which a message or a verb is refused, by the effective state of the agent.
#pragma once

#include <agentcore/agent_state.hpp>
#include <agentcore/error.hpp>

namespace agentcore::detail::tree {

// Of a message (G12), or of a verb (C20), to an agent in that effective state, which is closed.
constexpr Errc closed_reason_of(AgentState state) noexcept {
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
