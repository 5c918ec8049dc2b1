// Events of agents and their mailboxes. What every event has in common: see Event.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/message.hpp>
#include <agentcore/stop_origin.hpp>
#include <agentcore/verbs.hpp>

#include <cstddef>

namespace agentcore {

/// An agent was created: the first event of the agent.
struct AgentCreated {
  Agent agent;  ///< the agent
};

/// An agent went from one state to another. The changes of an agent have no gaps: `from` is the `to` of the
/// change before.
///
///     auto states = tree.on<agentcore::StateChanged>([](const agentcore::StateChanged& change) {
///       std::printf("%s: %s -> %s\n", change.agent.id().c_str(), to_string(change.from).data(),
///                   to_string(change.to).data());
///     });
struct StateChanged {
  Agent agent;                         ///< the agent
  AgentState from = AgentState::idle;  ///< the state before
  AgentState to = AgentState::idle;    ///< the state now
  /// The cause if `to` is `stopping`, `stopped` or `terminating`, or is `idle` because of an abort. Otherwise
  /// without meaning.
  StopCause cause = StopCause::user;
  /// Who stopped, deleted, aborted or interrupted the agent, and why. For a descendant, whose cause is
  /// StopCause::parent: who called the verb on the ancestor, and why. Otherwise without texts.
  StopOrigin origin = {};
};

/// The mailbox of the agent is held, or released: by Agent::interrupt() with QueueAction::hold, and
/// Agent::release_queue(). A restart that holds it reports that in AgentRestored.
struct QueueHeld {
  Agent agent;        ///< the agent
  bool held = false;  ///< true: no message begins a turn until the release
};

/// The agent was paused or unpaused, by Agent::pause() or Agent::unpause(), and its subtree with it; or all
/// agents were, by AgentTree::pause_all() or AgentTree::unpause_all(). There is no event for the descendants.
struct PauseChanged {
  Agent agent;             ///< the agent; `Agent{}`: all agents
  bool paused = false;     ///< true: paused. False: unpaused; it may still be paused by an ancestor.
  StopOrigin origin = {};  ///< why (PauseOptions::reason); the caller is empty
};

/// A deferred stop or delete of the agent (StopOptions::when) is pending, or was withdrawn by resume(). When
/// it takes effect, the StateChanged to `stopping` or `terminating` follows. There is no event for the
/// descendants.
struct StopPending {
  Agent agent;                           ///< the agent
  StopWhen when = StopWhen::after_turn;  ///< when it takes effect
  bool withdrawn = false;                ///< true: it was withdrawn
  StopOrigin origin = {};                ///< who called it, and why
};

/// Nothing runs any more in the subtree of a paused agent: no model call, no tool and no background task,
/// except those that wait for a person or for the end of the pause. Emitted once for each pause, unless the
/// agent is unpaused or deleted before.
struct PauseSettled {
  Agent agent;  ///< the agent on which Agent::pause() was called; `Agent{}`: AgentTree::pause_all()
};

/// A message was dropped: it waited in the mailbox, and no turn begins with it. An accepted message ends
/// either with this event or with the TurnEnded of its turn.
struct MessageDropped {
  Agent agent;                              ///< the agent
  MessageId id;                             ///< as returned by Agent::send()
  Message message;                          ///< what was sent
  DropReason reason = DropReason::stopped;  ///< why
  bool simulated = false;                   ///< true: it was the answer of an Agent::simulate()
};

/// A stop or a delete of the agent has settled: no operation of the agent is in flight any more.
struct Settled {
  Agent agent;                           ///< the agent
  AgentState end = AgentState::stopped;  ///< `stopped` or `terminating`
  StopCause cause = StopCause::user;     ///< why it was stopped or deleted
  std::size_t messages_dropped = 0;      ///< the number of messages dropped from its mailbox
  bool abandoned = false;                ///< true: an operation was given up; see the event Abandoned
  StopOrigin origin = {};                ///< who stopped or deleted it, and why; as in StateChanged
};

/// The agent is deleted when all callbacks of this event have returned: the last event of the agent, but for
/// StopPersisted and MessagePersisted, which come when its delete, and the ends of its messages, have reached
/// the store. From then on its id can be used again.
struct AgentDeleted {
  Agent agent;                             ///< the agent
  StopCause cause = StopCause::terminate;  ///< `terminate`, or `parent` if an ancestor was deleted
  StopOrigin origin = {};                  ///< who deleted it, and why; as in StateChanged
};

}  // namespace agentcore
