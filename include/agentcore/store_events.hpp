// Events of agents that a store keeps. What every event has in common: see Event.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace agentcore {

/// AgentTree::restore() has created an agent from the store. One for each agent, parents before children.
struct AgentRestored {
  Agent agent;                          ///< the agent
  AgentState state = AgentState::idle;  ///< `idle` or `stopped`
  std::size_t messages = 0;             ///< the messages that wait in its mailbox
  /// The turn that was in progress, and is interrupted now: its question is marked
  /// (ChatMessage::interruption). 0: none was.
  std::uint64_t interrupted_turn = 0;
  MessageId message = {};  ///< The message of that turn; none if no turn was interrupted.
  /// What the agent was stopped for: "handler 'printer' is not in RestoreOptions::code". Empty: all its code
  /// was found.
  std::string unbound = {};
};

/// A stop or a delete has reached the store: it is in force after a restart, too. One for each call of
/// stop(), terminate() or stop_all() that had an effect; for each child with StopOptions::descendants_only.
/// It may come before or after the agent has settled.
struct StopPersisted {
  Agent agent;                ///< The agent on which the verb was called; empty for stop_all().
  std::string agent_id = {};  ///< Its id, also if it is deleted already.
  bool deleted = false;       ///< True: it was deleted, by terminate(). False: stopped.
};

/// A message has reached the store.
struct MessagePersisted {
  Agent agent;        ///< the agent
  MessageId message;  ///< as returned by Agent::send()
  /// False: the message waits, or its turn has begun, in the store. True: so has its end: a restart does not
  /// begin its turn again. A message may have only the second one.
  bool ended = false;
};

}  // namespace agentcore
