// The result of send() and of the verbs, and the options and reports of abort, interrupt, stop, resume,
// terminate, cancel_call and cancel_task. Those of steer: message.hpp. Those of pause: pause.hpp.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace agentcore {

/// The agents on which a function acts, seen from the agent on which it is called. Each function says which
/// scopes it has; any other is refused with `invalid_config`.
enum class Scope : unsigned char {
  agent,        ///< The agent alone.
  subtree,      ///< The agent and all its descendants.
  descendants,  ///< All its descendants, and not the agent itself.
  with_forks    ///< The subtree, and the forks of its agents (fork()), with their descendants and forks.
};
/// Returns the name of the enumerator, for example "subtree".
AGENTCORE_API std::string_view to_string(Scope scope) noexcept;

/// The verbs that end agents.
enum class StopVerb : unsigned char {
  stop,      ///< Agent::stop(), AgentTree::stop_all(); also by a budget or a lease
  terminate  ///< Agent::terminate(), also of a TerminateScope
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(StopVerb verb) noexcept;

/// Why an agent was stopped, aborted or deleted.
enum class StopCause : unsigned char {
  user,       ///< The host requested it. The default.
  parent,     ///< An ancestor was stopped or deleted.
  deadline,   ///< A time limit of the host has passed. Set only by the host, in StopOptions::cause.
  budget,     ///< A Budget is used up.
  shutdown,   ///< The host ends all work. The default of AgentTree::stop_all().
  terminate,  ///< The agent is being deleted.
  lease       ///< Its lease was not renewed in time (AgentLimits::lease).
};
/// Returns the name of the enumerator, for example "user".
AGENTCORE_API std::string_view to_string(StopCause cause) noexcept;

/// The result of Agent::send(), Agent::simulate() and Agent::steer().
///
///     if (agentcore::SendResult sent = agent.send("Hello"); !sent)
///       std::fprintf(stderr, "refused: %s\n", to_string(sent.reason).data());
struct [[nodiscard]] SendResult {
  /// Why the message was refused; `none` if it was accepted. One of: the state of the agent
  /// (`agent_stopping`, `agent_stopped`, `agent_terminating`), `agent_not_found`, `runtime_gone`,
  /// `mailbox_full`, `message_too_large`, `invalid_utf8`, `empty_message` or `out_of_memory`; of
  /// ToolContext::send() also `call_over`.
  Errc reason = Errc::none;
  /// The id of the message and of the turn that it begins: TurnStarted::message, TurnEnded::message and
  /// MessageDropped::message have it. No id if the message was refused.
  MessageId id = {};
  /// Of steer(). True: with SteerWhen::now a model call was open, and was ended; what it still delivers is
  /// dropped. False: SteerWhen::next_step, or no model call was open, or TreeOptions::max_reasks was reached.
  bool ended_call = false;

  /// True if the message was queued. False: nothing was queued (G12).
  bool accepted() const noexcept { return reason == Errc::none; }
  /// The same as accepted().
  explicit operator bool() const noexcept { return accepted(); }
};

/// How a verb (interrupt, pause, stop, resume, terminate, ...) ended.
enum class VerbStatus : unsigned char {
  done,       ///< The call took effect.
  no_effect,  ///< There was nothing to do: the agent is already as the verb would leave it.
  refused     ///< The verb is not possible. Nothing was changed.
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(VerbStatus status) noexcept;

/// The result of abort(), interrupt(), release_queue(), pause(), unpause() (see UnpauseResult), renew(),
/// stop(), resume(), terminate(), cancel_call(), complete_call(), cancel_task(), stop_all(), resume_all(),
/// pause_all() and unpause_all().
///
///     if (agentcore::VerbResult stopped = planner.stop(); !stopped.accepted())
///       std::fprintf(stderr, "not stopped: %s\n", to_string(stopped.reason).data());
///
/// Reasons if `status` is `refused`:
/// - every verb: `agent_not_found`, `runtime_gone`, and `out_of_memory` (no agent was changed and no report
///   follows; call again)
/// - interrupt, stop, resume, terminate, abort: `invalid_config` (a Scope or QueueAction that it does not
/// have)
/// - stop: `not_child_agent`, `cannot_stop_user`
/// - interrupt: `message_not_found` (InterruptOptions::message was sent to another agent)
/// - renew: `no_lease`, `lease_expired`
/// - resume: `agent_stopping` (the stop has not settled yet), `agent_terminating`, `parent_stopped`
/// - terminate: `not_child_agent`, `cannot_delete_system_agent`
/// - cancel_call, cancel_task: `invalid_utf8` (of the reason)
///
/// Reasons if `status` is `no_effect`:
/// - abort: `not_waiting_llm`
/// - interrupt: `turn_over` (not with Scope::subtree), or `agent_stopping`, `agent_stopped` or
///   `agent_terminating`
/// - release_queue: `not_held`
/// - pause: `paused`
/// - unpause: `not_paused`
/// - stop: the state in which the agent was: `agent_stopping`, `agent_stopped` or `agent_terminating`
/// - resume: `not_stopped`
/// - terminate: `agent_terminating`
/// - a deferred stop or delete (StopWhen): `stop_pending` (what is pending includes it)
/// - cancel_call, complete_call, cancel_task: `call_not_found`, `call_over`
struct [[nodiscard]] VerbResult {
  VerbStatus status = VerbStatus::refused;  ///< How the verb ended.
  Errc reason = Errc::none;                 ///< `none` if `status` is `done`; else why not.
  /// Of interrupt, pause, stop and terminate, also if `status` is `no_effect`. True: when the call returned,
  /// the loop was in no action of the agents that the verb acts on, except for the callback that made the
  /// call. False: the loop thread was in an action of one of them. What that action produces is dropped (G1);
  /// after a pause it is kept.
  bool quiet = true;
  /// Of interrupt, stop and terminate: how many operations the call cut on the calling thread (see StopCut).
  std::size_t calls_cut = 0;

  // There is no conversion to bool: it could not say whether `no_effect` counts.

  /// True unless the verb was refused. Also true if there was nothing to do, e.g. for `call_not_found`.
  bool accepted() const noexcept { return status != VerbStatus::refused; }
  /// True if this call took effect.
  bool took_effect() const noexcept { return status == VerbStatus::done; }

  /// Makes the result of a call that took effect.
  static VerbResult done() noexcept { return {VerbStatus::done, Errc::none}; }
  /// Makes the result of a call that found nothing to do.
  static VerbResult no_effect(Errc reason) noexcept { return {VerbStatus::no_effect, reason}; }
  /// Makes the result of a call that was refused.
  static VerbResult refused(Errc reason) noexcept { return {VerbStatus::refused, reason}; }
};

/// What an interrupt or an abort does with the messages that wait in the mailbox of the agent.
enum class QueueAction : unsigned char {
  deliver,  ///< The next message begins a turn at once.
  hold,     ///< No message begins a turn until Agent::release_queue(), but that of the call of an agent tool
            ///< (make_agent_tool()). New messages are accepted.
  drop      ///< The messages that wait at the time of the call are dropped, each with MessageDropped.
};

/// Options of abort().
struct AbortOptions {
  /// `deliver` or `drop`; `hold` is refused with `invalid_config`: see interrupt(). Messages are dropped only
  /// if a model call was ended.
  QueueAction queue = QueueAction::deliver;
  /// For the log and the StateChanged of the agent (StopOrigin).
  std::string reason = {};
};

/// How many operations in flight (model calls, tool calls and background tasks) an interrupt, a stop or a
/// delete cuts on the calling thread before it returns, even while the loop is busy. To cut an operation
/// means to trigger its stop token and, for a model call, to shut down its connection. The loop cuts the
/// remaining operations at the start of its next poll, before anything else.
enum class StopCut : unsigned char {
  /// At most 200. To cut a model call over HTTP takes 15 to 45 us, so the verb returns after 3 to 9 ms at
  /// most.
  all,
  /// At most 8: for a thread that may be delayed only by a fraction of a millisecond.
  few,
  /// None: for a thread that may be delayed only by some 15 us, which a call without a cut takes. What is in
  /// flight goes on while the loop is busy in code of the host.
  none,
};

/// Options of interrupt().
///
///     // Esc in a chat: the answer ends, and what was typed meanwhile waits.
///     agentcore::VerbResult result = agent.interrupt({.queue = agentcore::QueueAction::hold});
///     if (result.reason == agentcore::Errc::turn_over) std::puts("nothing was running");
struct InterruptOptions {
  /// The turns that end. `agent`: the current turn of the agent, and the turns of children that do its calls
  /// (make_agent_tool()). `subtree`: the current turns of the agent and of all its descendants; a turn that
  /// begins after the call is not affected.
  Scope scope = Scope::agent;
  /// For the mailbox of the agent. With `subtree`, `hold` also holds the mailboxes of all its descendants,
  /// until the agent itself is released; `drop` does not drop their messages.
  ///
  /// If no turn is in progress, it is done nevertheless. The result is then `no_effect` with `turn_over`;
  /// with `subtree` it is `done`, whether or not a turn was in progress. Nothing is done for an agent that is
  /// being stopped or deleted, or is stopped (`no_effect` with that state).
  QueueAction queue = QueueAction::deliver;
  /// A message: only its turn is ended, never the next one. If it still waits, it is dropped, and `queue` has
  /// no effect. If its turn has ended, nothing happens (`turn_over`). `scope` has no effect. No id: the turn
  /// in progress.
  MessageId message = {};
  /// For the log, the StateChanged of the agents whose turns end (StopOrigin), and the error of the results
  /// of these turns (TurnResult::error).
  std::string reason = {};
  /// How many operations to cut on the calling thread.
  StopCut cut = StopCut::all;
};

/// Options of Agent::cancel_call() and AgentTree::cancel_task().
struct CancelOptions {
  /// Why: UTF-8, for the model and the log. The text that the model reads has at most
  /// TreeOptions::max_tool_result_bytes; the rest is cut off. The log record has the whole reason. Empty: the
  /// model reads no reason.
  std::string reason = {};
};

/// When a stop or a delete takes effect. One that is not for `now` is a deferred stop or delete: it is
/// pending until it takes effect or is withdrawn. The enumerators are in the order of strictness, `now`
/// first.
enum class StopWhen : unsigned char {
  now,         ///< At the call.
  after_step,  ///< After the current step: the model call that runs, and the tool calls of its answer.
  after_turn   ///< After the current turn.
};
/// Returns the name of the enumerator, for example "after_step".
AGENTCORE_API std::string_view to_string(StopWhen when) noexcept;

/// What a stop or a delete did. Passed to StopOptions::on_settled and TerminateOptions::on_settled when all
/// its agents have settled.
struct StopReport {
  /// The agent on which stop() or terminate() was called. Empty for AgentTree::stop_all().
  std::string agent_id = {};
  StopCause cause = StopCause::user;  ///< StopOptions::cause; StopCause::terminate for a delete.
  std::string caller = {};            ///< `caller` of the options.
  std::string reason = {};            ///< `reason` of the options.
  /// The descendants that it stopped or deleted, children before parents.
  std::vector<std::string> descendants = {};
  /// The agents with an operation that did not end within the grace period, including the agent itself. They
  /// are stopped or deleted nevertheless.
  std::vector<std::string> abandoned = {};
  /// Messages that were dropped from mailboxes, including the mailbox of the agent itself.
  std::size_t messages_dropped = 0;
  /// The ids of these messages, of the first 10,000 of them. For each there is a MessageDropped as well.
  std::vector<MessageId> dropped_messages = {};
};

/// Options of stop().
///
///     agentcore::StopOptions options;
///     options.reason = "the user closed the document";
///     options.on_settled = [](const agentcore::StopReport& report) {
///       std::printf("%zu agents below it stopped\n", report.descendants.size());
///     };
///     agentcore::VerbResult result = planner.stop(std::move(options));
struct StopOptions {
  /// Empty: the host calls. Otherwise the id of the agent on whose behalf the call is made: an agent may stop
  /// only its own children (`not_child_agent`). Also for the report, the log and the events (StopOrigin).
  std::string caller = {};
  /// `subtree`: stops the agent and all its descendants.
  ///
  /// `agent`: stops only the agent; its children continue. A second stop of the subtree then stops the
  /// children as well, with StopWhen::now whatever its `when` is. If the agent has settled by then, no second
  /// Settled event follows for it. If a deferred stop of the subtree is pending, a stop of the agent alone
  /// makes it take effect for the descendants, too.
  ///
  /// `descendants`: stops all descendants of the agent, and not the agent itself: it continues, and may
  /// create new children. Each child is stopped with its own descendants, as by a stop() of its own: it has
  /// `cause`, and is resumed by its own resume(). Children that stand for a person (AgentRole::user)
  /// continue. The one report is that of the agent, and StopReport::descendants lists the children, too.
  ///
  /// When the call returns, all children that existed when it was made are closed with their descendants
  /// (G1), one after the other within the call. Children are created on the loop thread: if the call is made
  /// on that thread, no child is created meanwhile; on another thread, a child that is created during the
  /// call is stopped or not, and the report says which. There the call takes time proportional to the size of
  /// the tree: some milliseconds for a million agents.
  ///
  /// `caller` may be the agent itself, whose own children these are. Without a child that can be stopped the
  /// result is `no_effect` with `agent_stopped`, or with the state of the agent if that is closed itself.
  /// Then, and with `stop_pending`, on_settled is not called.
  Scope scope = Scope::subtree;
  /// The cause in the report, the receipt, and in the state changes and the Settled event of the agent. For
  /// its descendants the cause is StopCause::parent. One of `user`, `deadline` and `shutdown`: the others say
  /// what the library has seen itself. If it is another one, the stop takes effect nevertheless, its cause is
  /// `user`, and its log record also has the cause that was given.
  StopCause cause = StopCause::user;
  /// A text for the report, the log and the events of all agents that stop (StopOrigin).
  std::string reason = {};
  /// When it takes effect. A deferred stop closes the mailboxes at the call: a send is refused with
  /// `agent_stopping`. From then on no turn begins in the agent, and with the subtree in its descendants, and
  /// with StopWhen::after_step no model call either. Model calls and tool calls that run, the other tool
  /// calls of the same answer and background tasks may end, and with them the turns of descendants that do
  /// such a tool call (make_agent_tool()). When nothing runs any more, it takes effect as
  /// with StopWhen::now, the mailboxes are emptied, and its grace period begins. While the
  /// agent is paused in the middle of what may end, it stays pending; `escalate_after` limits that. Until
  /// then AgentStatus::stop_pending shows it, and a resume() of the same agent withdraws all that are
  /// pending. Several deferred stops and deletes of an agent add up: the strictest `when` counts, for the
  /// agent and for its descendants; the earliest escalation; and a delete. One that adds nothing has no
  /// effect (`stop_pending`). Children that are created meanwhile are included, unless it is of the agent
  /// alone.
  StopWhen when = StopWhen::now;
  /// Of a deferred stop: how long it may be pending, from the call on; then it takes effect as with
  /// StopWhen::now. Negative: 0. Empty: no limit.
  std::optional<Duration> escalate_after = {};
  /// How long to wait for operations that do not end before they are given up. Negative: 0. Empty:
  /// TreeOptions::stop_grace.
  std::optional<Duration> grace = {};
  /// Called once on the loop thread if VerbResult::accepted() (with Scope::descendants: if
  /// VerbResult::took_effect()), when all stopped agents have settled. If an earlier stop or delete closed
  /// the agent, it is called when that one has settled. Not called if a deferred stop is withdrawn (with
  /// Scope::descendants: that of any child), or if the tree or the Runtime is destroyed before. An exception
  /// is caught and logged.
  std::function<void(const StopReport&)> on_settled = {};
  /// How many operations to cut on the calling thread.
  StopCut cut = StopCut::all;
};

/// Options of resume().
struct ResumeOptions {
  /// `subtree`: also resumes the descendants that stopped because this agent was stopped, but not those on
  /// which stop() was called directly, even if that call found them stopped. `agent`: the agent alone.
  Scope scope = Scope::subtree;
};

/// Options of terminate(). A delete always includes all descendants.
struct TerminateOptions {
  /// Empty: the host calls. Otherwise the id of the agent on whose behalf the call is made: an agent may
  /// delete only its own children (`not_child_agent`). Also for the report, the log and the events
  /// (StopOrigin).
  std::string caller = {};
  /// A text for the report, the log and the events of all agents that are deleted (StopOrigin).
  std::string reason = {};
  /// When it takes effect. A deferred delete closes the mailboxes at the call: a send is refused with
  /// `agent_stopping`. From then on no turn begins in the agent and its descendants, and with
  /// StopWhen::after_step no model call either. Model calls and tool calls that run, the other tool calls of
  /// the same answer and background tasks may end, and with them the turns of descendants that do such a tool
  /// call (make_agent_tool()). When nothing runs any more, it takes effect as with StopWhen::now, the
  /// mailboxes are emptied, and its grace period begins. While the agent is paused in the middle of what may
  /// end, it stays pending; `escalate_after` limits that. Until then AgentStatus::stop_pending shows it, and
  /// a resume() of the same agent withdraws all that are pending. It adds up with other deferred stops and
  /// deletes, as StopOptions::when says. Children that are created meanwhile are included.
  StopWhen when = StopWhen::now;
  /// Of a deferred delete: how long it may be pending, from the call on; then it takes effect as with
  /// StopWhen::now. Negative: 0. Empty: no limit.
  std::optional<Duration> escalate_after = {};
  /// How long to wait for operations that do not end before they are given up. Negative: 0. Empty:
  /// TreeOptions::stop_grace.
  std::optional<Duration> grace = {};
  /// Called once on the loop thread if VerbResult::accepted(), when the agents are deleted. Not called if a
  /// deferred delete is withdrawn, or if the tree or the Runtime is destroyed before. An exception is caught
  /// and logged.
  std::function<void(const StopReport&)> on_settled = {};
  /// How many operations to cut on the calling thread.
  StopCut cut = StopCut::all;
  /// `subtree`: the forks of the agents that are deleted keep their conversations. If an agent is gone, its
  /// forks count as forks of the agent of which it was one itself. `with_forks`: the forks that exist when
  /// this delete takes effect are deleted by the loop thread, in the poll that reads the delete, as by
  /// terminate() with the same `reason`, `when` and `grace`, and what is left of `escalate_after`. They are
  /// not in the report of this call.
  ///
  /// A deferred delete leaves the forks alone while it is pending: a resume() that withdraws it withdraws
  /// theirs with it. If several are pending, one with Scope::with_forks is enough, also if another verb
  /// deletes the agent first. A call that has no effect (`no_effect`) leaves them alone, too.
  ///
  /// In a tree with a store the forks are deleted together with the agent: if the process ends in between,
  /// the next AgentTree::restore() finishes it.
  Scope scope = Scope::subtree;
};

}  // namespace agentcore
