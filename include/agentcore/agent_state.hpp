// The states of an agent and the edges between them.
#pragma once

#include <optional>
#include <string_view>

namespace agentcore {

// What an agent is doing, as everyone sees it: its own state, or what a closed ancestor makes of it (B1,
// B19).
enum class AgentState : unsigned char {
  idle,         // waits for a message
  waiting_llm,  // a model call is open
  processing,   // handles an answer, runs a tool, or is in its handler
  stopping,     // its gate is closed, something of it is still in flight
  stopped,      // nothing is left in flight; only resume() opens it again
  terminating,  // being deleted; found, but refuses everything (X33)
};

inline constexpr int agent_state_count = 6;

// "idle", "waiting_llm", "processing", "stopping", "stopped", "terminating".
std::string_view to_string(AgentState state) noexcept;
std::optional<AgentState> agent_state_from_string(std::string_view text) noexcept;

// True for the edges that an agent may take (B3-B13 and resume: stopped -> idle); every other pair is
// refused. Deletion ends in no state at all: the agent is gone.
bool is_allowed(AgentState from, AgentState to) noexcept;

// May start something new: idle, waiting_llm and processing (B16).
constexpr bool can_process(AgentState state) noexcept {
  return state == AgentState::idle || state == AgentState::waiting_llm || state == AgentState::processing;
}
// stopping or stopped (B17).
constexpr bool is_stopped(AgentState state) noexcept {
  return state == AgentState::stopping || state == AgentState::stopped;
}

}  // namespace agentcore
