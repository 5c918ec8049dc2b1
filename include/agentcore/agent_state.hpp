// The states of an agent, and the transitions between them.
#pragma once

#include <agentcore/export.hpp>

#include <optional>
#include <string_view>

namespace agentcore {

/// The effective state of an agent: its own state, or the state that a stopped or deleted ancestor imposes on
/// it.
///
///     agentcore::Result<agentcore::AgentState> state = agent.state();
///     if (state && is_stopped(*state)) agent.resume();
enum class AgentState : unsigned char {
  idle,         ///< Waits for a message.
  waiting_llm,  ///< A model call is in flight.
  processing,   ///< Handles an answer, runs a tool, or runs its MessageHandler.
  stopping,     ///< Closed by a stop; an operation of the agent is still in flight.
  stopped,      ///< No operation is in flight any more. Only resume() opens the agent again.
  terminating,  ///< Being deleted. AgentTree::find() still returns the agent, but it refuses everything.
};

/// The number of states.
inline constexpr int agent_state_count = 6;

/// Returns "idle", "waiting_llm", "processing", "stopping", "stopped" or "terminating".
AGENTCORE_API std::string_view to_string(AgentState state) noexcept;
/// Returns the state with that name, or nullopt. The comparison is case-sensitive.
AGENTCORE_API std::optional<AgentState> agent_state_from_string(std::string_view text) noexcept;

/// Returns true if an agent may change from `from` to `to`, and false for every other pair, including two
/// equal states. The change from `stopped` to `idle` happens only by resume(). A deletion ends in no state:
/// the agent no longer exists.
AGENTCORE_API bool is_allowed(AgentState from, AgentState to) noexcept;

/// Returns true for idle, waiting_llm and processing: the agent may start a new operation.
constexpr bool can_process(AgentState state) noexcept {
  return state == AgentState::idle || state == AgentState::waiting_llm || state == AgentState::processing;
}
/// Returns true for stopping and stopped.
constexpr bool is_stopped(AgentState state) noexcept {
  return state == AgentState::stopping || state == AgentState::stopped;
}

}  // namespace agentcore
