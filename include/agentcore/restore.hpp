// What AgentTree::restore() takes and returns: how durable agents are, and what was found in the store.
#pragma once

#include <agentcore/code_registry.hpp>
#include <agentcore/error.hpp>
#include <agentcore/executor.hpp>
#include <agentcore/export.hpp>
#include <agentcore/shared_or_borrowed.hpp>
#include <agentcore/store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// Which changes are written to the store at the end of the poll in which they were made. Other changes wait
/// until there is one of these, and are written with it, in one batch. So the store always has the state at
/// the end of a poll; the end of the process loses what has changed since.
///
/// At every durability these changes are written at the end of their poll: agents that are created or
/// deleted, stops, resumes, pauses, holds, the ends of turns, questions and grants, and what a function of
/// the host changes in a spec, a budget or a conversation.
enum class Durability : std::uint8_t {
  each_turn,    ///< only these: a process that ends loses at most the turns in progress and new messages
  each_step,    ///< also each answer of a model, and the beginning and the end of each tool call
  each_message  ///< also each message that is sent, taken or dropped
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(Durability durability) noexcept;

/// What the tree does after a commit has failed.
enum class AfterStoreFailure : std::uint8_t {
  /// Agents go on. The commit is tried again, after one second, two, four, ..., at most a minute; it then has
  /// everything that has changed meanwhile. After `store_fenced` it is not tried again: another tree has the
  /// agents.
  retry,
  go_on,    ///< agents go on in memory alone; nothing is written to the store any more
  stop_all  ///< as `retry`, and AgentTree::stop_all() is called with the error as the reason
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(AfterStoreFailure after) noexcept;

/// What restore() does with a turn that was in progress when the process ended, and with the messages that
/// wait behind it.
enum class InterruptedTurns : std::uint8_t {
  /// It ends as interrupted, unless it waited only for people: for approvals, or for answers to questions of
  /// tools with ToolReplay::safe, such as make_ask_human_tool(). It goes on waiting, with calls behind these.
  ///
  /// No agent begins work by itself: each agent for which messages wait holds its mailbox, as with
  /// QueueAction::hold, until Agent::release_queue(), also when the mailbox is empty by then
  /// (AgentRestored::held_by_restart). So a stop that had not reached the store when the process ended is not
  /// undone by a message that waited. A turn that waits for people goes on when they answer, or when its
  /// question times out.
  end,
  /// It goes on where it was. A model call that was open is made again. A tool call whose result is in the
  /// store is not made again, and one that had not begun begins. One that may have begun is made again if its
  /// tool has ToolReplay::safe; otherwise the model reads that its effect is unknown. Messages that
  /// wait begin their turns, unless the mailbox was held.
  go_on
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(InterruptedTurns turns) noexcept;

/// Options of AgentTree::restore().
struct RestoreOptions {
  /// Which changes are written at once.
  Durability durability = Durability::each_turn;
  /// What the written changes survive; see StoreSync.
  StoreSync sync = StoreSync::disk;
  /// What becomes of turns that were in progress, and whether messages begin turns by themselves. A turn of
  /// an agent that is `stopped` after the restore, of a MessageHandler, of a simulated answer, or that was a
  /// part of a tool call of another agent (make_agent_tool()), is interrupted in any case.
  InterruptedTurns turns = InterruptedTurns::end;
  /// With InterruptedTurns::go_on: how often a turn is begun at most, the first time included. What ends the
  /// process, such as a tool that crashes, would do so again in each run. The count is in the store before
  /// the turn goes on. After that the turn is interrupted, which is logged (AgentRestored::attempt). A turn
  /// that waits only for people goes on without being counted. 1: none goes on.
  ///
  /// A message that a restart has brought back may have begun a turn that the store has not heard of. So the
  /// turn of such a message, also one of a MessageHandler, begins when the store has that it does, which
  /// counts as well: while the store fails, it waits. After that many such begins the message is dropped
  /// (DropReason::interrupted). Only a begin in the run that has accepted the message is not counted, if that
  /// run ends before its next commit.
  std::uint32_t max_attempts = 3;
  /// The code that the specs of the agents name. Also for agents that are created later.
  CodeRegistry code = {};
  /// Runs the commits, one at a time. While one runs, changes are collected for the next. Null: the loop
  /// thread runs them at the end of a poll, which takes as long as the store does; with StoreSync::disk, as
  /// long as the disk does. No verb, no stop and no turn makes the loop wait for a commit that runs: an agent
  /// whose conversation is still to be read begins its turn after the commit. Functions that return a
  /// conversation, such as Agent::conversation(), wait for it if they are the first to use it.
  SharedOrBorrowed<Executor> executor = {};
  /// Called on the loop thread when a commit has failed. It may call anything, and may destroy the tree.
  /// Empty: `retry`. Each failure is also logged.
  std::function<AfterStoreFailure(const Error& error)> on_failure = {};
};

/// What AgentTree::restore() has found.
struct RestoreReport {
  std::size_t agents = 0;             ///< Agents that exist now.
  std::size_t messages = 0;           ///< Messages that wait in their mailboxes.
  std::size_t interrupted_turns = 0;  ///< Turns that were in progress, and are interrupted.
  std::size_t continued_turns = 0;    ///< Turns that were in progress, and go on.
  /// Agents that are gone: those whose delete had begun, and those of one tool call (make_agent_tool()).
  std::size_t deleted = 0;
  /// The ids of these, as Agent::id() returned them in a process where this tree had the same place among the
  /// trees of its Runtime. There is no AgentDeleted for them.
  std::vector<std::string> deleted_ids = {};
  std::size_t unbound = 0;  ///< Agents that are stopped because code of theirs was not found.
};

}  // namespace agentcore
