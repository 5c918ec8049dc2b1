// AgentStatus: the state of an agent with the flags beside it.
#pragma once

#include <agentcore/agent_state.hpp>
#include <agentcore/verbs.hpp>

#include <optional>

namespace agentcore {

/// The state of an agent and the flags that keep it from beginning something, as Agent::status() read them at
/// one moment.
///
///     agentcore::Result<agentcore::AgentStatus> status = agent.status();
///     if (status && status->paused) std::puts("paused");
struct AgentStatus {
  AgentState state = AgentState::idle;  ///< The effective state (Agent::state()).
  /// True: the agent or an ancestor is paused. Its state is what it was: a paused agent whose model call has
  /// ended can be `processing` until it is unpaused.
  bool paused = false;
  /// True: the mailbox is held (QueueAction::hold), by a hold of this agent or by one of an ancestor with its
  /// subtree.
  bool queue_held = false;
  /// The strictest deferred stop or delete that is pending for the agent, its own or that of an ancestor
  /// (StopOptions::when). Empty: none.
  std::optional<StopWhen> stop_pending = {};
};

}  // namespace agentcore
