// StopAudit: gets a record of each stop and each delete (TreeOptions::audit). Records in a file:
// receipt_file.hpp.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/export.hpp>
#include <agentcore/message.hpp>
#include <agentcore/tool.hpp>
#include <agentcore/tool_events.hpp>
#include <agentcore/verbs.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// A point in time, by two clocks.
struct StopTime {
  TimePoint monotonic = {};  ///< Clock::now() of the Runtime.
  WallTime wall = {};        ///< Clock::wall_time() of the Runtime.
};

/// An operation of an agent that a stop or a delete ended, or a call of a turn that it ended.
struct CutOperation {
  /// `model_call` (of a turn, or of a summary), `tool_call` or `background`.
  TaskKind kind = TaskKind::model_call;
  std::string agent_id = {};  ///< The agent to which it belongs.
  std::uint64_t turn = 0;     ///< The number of the turn in which it was begun.
  std::string call_id = {};   ///< Of a tool call, or of a background task; else empty.
  std::string tool = {};      ///< The name of the tool; empty for a model call.
  /// What became of it:
  /// - `not_started`: a tool call that had not begun: it had no effect.
  /// - `completed`: a tool call that had given its result before the gate was closed.
  /// - `interrupted`: it was cut while it ran, and ended within the grace period; the effect of a tool is
  ///   unknown. A result that it delivered after that is in StopRecord::discarded.
  /// - `abandoned`: as interrupted, but it did not end within the grace period; it may still be running.
  ToolOutcome outcome = ToolOutcome::interrupted;
  /// When the loop thread ended it, by Clock::now(). Its stop token was triggered at that time, or earlier by
  /// the thread of the verb, but never before the gate was closed. Empty if no stop has cut it: it was
  /// completed, or another verb had cut it before.
  std::optional<TimePoint> cut = {};
  /// Of a model call: the tokens that the turn's result counts for it. They are those that the provider had
  /// reported, else our own count of the prompt and of the text that was delivered. A provider may bill them.
  std::uint64_t tokens_counted = 0;
  /// Of a model call: the tokens that a Budget had reserved for it, prompt and answer; 0 if no budget is
  /// limited. A provider that goes on after the end of the connection may bill more than `tokens_counted`,
  /// but hardly more than this.
  std::uint64_t tokens_reserved = 0;
};

/// What one stop or delete did. From the same data as StopReport. It has ids, counts and
/// times, and no content of a conversation; `reason` is a free text of the host.
struct AGENTCORE_API StopRecord {
  StopVerb verb = StopVerb::stop;  ///< Which verb it was.
  std::uint64_t tree = 0;          ///< The number of the tree in its Runtime (ChatRequest::tree).
  std::string agent_id = {};       ///< The agent on which it was called. Empty for AgentTree::stop_all().
  /// Of a stop with Scope::descendants: the agent whose descendants were stopped. Such a stop has
  /// one record for each child, and `agent_id` is the child. Otherwise empty.
  std::string below = {};
  StopCause cause = StopCause::user;  ///< StopOptions::cause; `terminate` for a delete.
  std::string caller = {};            ///< StopOptions::caller, TerminateOptions::caller
  std::string reason = {};            ///< StopOptions::reason, TerminateOptions::reason
  bool cascade = true;                ///< The descendants are included.
  StopWhen when = StopWhen::now;      ///< When it was to take effect.
  StopTime called = {};               ///< When the verb was called.
  /// When it took effect: no gate was closed by it before `called`, and its gate was closed at `closed` at
  /// the latest. Empty: it was deferred, and another stop or delete closed the agent before.
  std::optional<StopTime> closed = {};
  StopTime settled = {};  ///< When all its agents had settled.
  /// The descendants that it stopped or deleted, children before parents.
  std::vector<std::string> descendants = {};
  /// The agents with an operation that did not end within the grace period.
  std::vector<std::string> abandoned = {};
  std::size_t messages_dropped = 0;              ///< Messages that were dropped from mailboxes.
  std::vector<MessageId> dropped_messages = {};  ///< The ids of the first 10,000 of them.
  /// What was in flight, and the tool calls of the turns that it ended. If two stops meet at an agent, the
  /// operations of that agent are in the records of those with which it settled.
  std::vector<CutOperation> operations = {};
  /// How many results (deltas, answers, results and progress of tools) agents accepted that reached them when
  /// their gates were closed. Always 0 (G1, G7); it is counted where results are accepted, and not where they
  /// are refused.
  std::size_t after_gate = 0;
  /// How many late results were dropped until the agents had settled, each with an event Discarded. What an
  /// abandoned operation delivers afterwards is dropped as well, and not counted here.
  std::size_t discarded = 0;
  std::size_t discarded_deltas = 0;  ///< The deltas of a model call in these.
  /// False: there was no memory for some operations, and they are missing.
  bool complete = true;
  /// True: the process ended before it had settled, and AgentTree::restore() has finished it. The store has
  /// neither who called it nor when and why: `caller` and `reason` are empty (`reason` names the code that
  /// was not found, or what is damaged, if the restart has stopped the agent for that), and all times are
  /// that of the restore. `operations` has the tool calls and tasks with an unknown effect of agents that are
  /// stopped.
  bool restart = false;

  /// The sum of CutOperation::tokens_counted: what may still be billed.
  std::uint64_t tokens_counted() const noexcept;
  /// The sum over the model calls of the larger of CutOperation::tokens_counted and
  /// CutOperation::tokens_reserved.
  std::uint64_t tokens_at_most() const noexcept;
};

/// Gets the records of all stops and deletes of a tree (TreeOptions::audit).
///
///     struct Counter final : agentcore::StopAudit {
///       void record(const agentcore::StopRecord& stop) override { tokens += stop.tokens_counted(); }
///       std::uint64_t tokens = 0;
///     };
///     Counter counter;  // outlives the tree
///     agentcore::AgentTree tree{runtime, {.llm = &llm, .audit = &counter}};
///
/// There is one record for each stop or delete that took effect, and for each deferred one that another one
/// overtook. For those that a restart finishes, AgentTree::restore() calls it before it emits the first
/// event; if the process ends before the next commit, the next restart does so again. There is none for a
/// verb that had no effect, for a deferred stop that was withdrawn, and for those that have not settled when
/// a tree without a store, or its Runtime, is destroyed.
class AGENTCORE_API StopAudit {
 public:
  virtual ~StopAudit() = default;

  /// A stop or a delete has settled. Called before its `on_settled`. The loop waits meanwhile: it must not
  /// block for long. An exception is caught and logged.
  /// @loop_thread
  virtual void record(const StopRecord& record) = 0;
};

}  // namespace agentcore
