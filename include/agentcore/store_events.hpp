// Events of agents that a store keeps. What every event has in common: see Event.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/export.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// What became of a turn that was in progress when the process ended.
enum class RestoredTurn : std::uint8_t {
  none,  ///< no turn was in progress, or it is kept for a repair (AgentRestored::damage)
  /// It has ended: its question is marked (ChatMessage::interruption). Its questions to people are closed:
  /// QuestionClosed with `cancelled` follows for each.
  interrupted,
  /// It goes on: see RestoreOptions::turns. It keeps its number, so there is no second TurnStarted. Each
  /// question to people that is asked again is open, with its id; QuestionAsked follows. A question that is
  /// not asked again, e.g. because a policy has changed, is closed without an event; with
  /// InterruptedTurns::end its turn then ends as interrupted, within restore().
  continues
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(RestoredTurn turn) noexcept;

/// A tool call, or a background task, that may have begun, and whose result is not in the store: its effect
/// is unknown.
struct InterruptedCall {
  std::string call_id = {};  ///< the id of the call or of the task
  std::string tool = {};     ///< the name of the tool; empty: it is not known any more
  bool replayed = false;     ///< it is made again: the tool has ToolReplay::safe, and the turn goes on
};

/// AgentTree::restore() has created an agent from the store. One for each agent, parents before children.
struct AgentRestored {
  Agent agent;                          ///< the agent
  AgentState state = AgentState::idle;  ///< its state now
  std::size_t messages = 0;             ///< the messages that wait in its mailbox
  /// The mailbox is held, by the agent or by an ancestor: no message begins a turn until
  /// Agent::release_queue().
  bool queue_held = false;
  /// The agent holds its mailbox because of a restart (InterruptedTurns::end), and not because of a verb. It
  /// stays so over further restarts, until Agent::release_queue().
  bool held_by_restart = false;
  RestoredTurn fate = RestoredTurn::none;  ///< what became of the turn that was in progress
  std::uint64_t turn = 0;                  ///< the number of that turn; 0: none was in progress
  /// The message with which that turn began; of a turn that the store knows only by its message, which is
  /// dropped (RestoreOptions::max_attempts), `turn` is 0.
  MessageId message = {};
  /// How often that turn was begun, this run included if it goes on: 2 after the first restart. A turn that
  /// was begun RestoreOptions::max_attempts times is interrupted. 0: none was in progress.
  std::uint32_t attempt = 0;
  /// The calls and tasks with an unknown effect.
  std::vector<InterruptedCall> interrupted_calls = {};
  /// What the agent was stopped for: "handler 'printer' is not in RestoreOptions::code". Empty: all its code
  /// was found.
  std::string unbound = {};
  /// Why the conversation of its turn, or of its tasks, cannot be read: the record is damaged. The agent is
  /// then stopped, in the same way as one of which code was not found. Empty: it was read, or is read when it
  /// is used first.
  std::string damage = {};
};

/// A stop or a delete has reached the store: it is in force after a restart, too, unless it was resumed
/// since. One for each call of stop(), terminate() or stop_all() that had an effect; for each child with
/// Scope::descendants. None for a stop that was resumed before its commit was made. It may come
/// before or after the agent has settled.
struct StopPersisted {
  Agent agent;                ///< The agent on which the verb was called; `Agent{}` for stop_all().
  std::string agent_id = {};  ///< Its id, also if it is deleted already.
  bool deleted = false;       ///< True: it was deleted, by terminate(). False: stopped.
};

/// A message has reached the store. Not emitted with `ended == false` for a message that was dropped, or
/// whose turn has ended, before the commit has returned (RestoreOptions::executor): so none of these follows
/// MessageDropped.
///
/// While a store fails, up to 100,000 of these events and of StopPersisted are kept for the commit that
/// succeeds. Those beyond are left out, and a log record says how many.
struct MessagePersisted {
  Agent agent;        ///< the agent
  MessageId message;  ///< as returned by Agent::send()
  /// False: the store has the message, which waits or whose turn has begun. True: the store has the end of
  /// its turn, so a restart does not begin that turn again. For a message that was handled between two
  /// commits, only the event with `true` comes.
  bool ended = false;
};

}  // namespace agentcore
