// Options, results and reports of send() and of the verbs abort, stop, resume and terminate.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace agentcore {

/// Why an agent was stopped, aborted or deleted.
enum class StopCause : unsigned char {
  user,      ///< The host asked for it. The default.
  parent,    ///< An ancestor was stopped or deleted.
  deadline,  ///< A time limit of the host has passed. Set only by the host, in StopOptions::cause.
  budget,    ///< A Budget is used up.
  shutdown,  ///< The host ends all work. The default of AgentTree::stop_all().
  terminate  ///< The agent is being deleted.
};
/// Returns the name of the enumerator, for example "user".
std::string_view to_string(StopCause cause) noexcept;

/// The result of Agent::send(), AgentTree::send() and Agent::simulate().
///
///     if (agentcore::SendResult sent = agent.send("Hello"); !sent)
///       std::fprintf(stderr, "refused: %s\n", to_string(sent.reason).data());
struct [[nodiscard]] SendResult {
  bool accepted = false;  ///< False: nothing was queued (G12).
  /// Why the message was refused; `none` if it was accepted. One of: the state of the agent
  /// (`agent_stopping`, `agent_stopped`, `agent_terminating`), `agent_not_found`, `missing_agent_id` (by id
  /// only), `runtime_gone`, `mailbox_full`, `message_too_large`, `invalid_utf8`, `empty_message` or
  /// `out_of_memory`.
  Errc reason = Errc::none;

  /// Returns `accepted`.
  explicit operator bool() const noexcept { return accepted; }
};

/// Options of abort().
struct AbortOptions {
  /// True: also drops the messages that are queued at the time of the call. False: the next message starts a
  /// turn at once. Messages are dropped only if a model call was ended.
  bool clear_queue = false;
  /// For the log.
  std::string reason = {};
};

/// The result of abort().
struct AbortResult {
  /// False if the agent does not exist (`missing_agent_id`, `agent_not_found` or `runtime_gone`), or if an
  /// allocation failed (`out_of_memory`; nothing was changed).
  bool ok = false;
  /// True if a model call was ended. If `ok` is true and this is false, `reason` is `not_waiting_llm`.
  bool aborted = false;
  /// `none` if a model call was ended; else why not.
  Errc reason = Errc::none;
};

/// What a stop did. Passed to StopOptions::on_settled when all stopped agents have settled.
struct StopReport {
  /// The agent on which stop() was called. Empty for AgentTree::stop_all().
  std::string agent_id = {};
  StopCause cause = StopCause::user;  ///< StopOptions::cause
  std::string reason = {};            ///< StopOptions::reason
  /// The descendants that this stop stopped, children before parents.
  std::vector<std::string> cascade_stopped = {};
  /// The agents with an operation that did not end within the grace period, including the agent itself. They
  /// are stopped nevertheless.
  std::vector<std::string> cascade_failed = {};
  /// Messages that were dropped from mailboxes, including the mailbox of the agent itself.
  std::size_t messages_dropped = 0;
};

/// How many operations in flight (model calls, tool calls and background tasks) a stop or a delete cuts on
/// the calling thread before it returns, even while the loop is busy. To cut an operation means to trigger
/// its stop token and, for a model call, to shut down its connection. The loop cuts the remaining operations
/// at the start of its next poll, before anything else.
enum class StopCut : unsigned char {
  /// At most 200. To cut a model call over HTTP takes 15 to 45 us, so the verb returns after 3 to 9 ms at
  /// most.
  all,
  /// At most 8: for a thread that may be delayed only by a fraction of a millisecond.
  few,
};

/// Options of stop().
///
///     agentcore::StopOptions options;
///     options.reason = "the user closed the document";
///     options.on_settled = [](const agentcore::StopReport& report) {
///       std::printf("%zu agents below it stopped\n", report.cascade_stopped.size());
///     };
///     agentcore::StopResult result = planner.stop(std::move(options));
struct StopOptions {
  /// Empty: the host calls. Otherwise the id of the agent on whose behalf the call is made: an agent may stop
  /// only its own children (`not_child_agent`).
  std::string caller = {};
  /// True: stops the agent and all its descendants. False: stops only the agent; its children continue. A
  /// later stop with `cascade` then stops the children as well; the agent itself has already settled, and no
  /// second Settled event follows for it.
  bool cascade = true;
  /// The cause in the report and in the state changes and the Settled event of the agent. For its descendants
  /// the cause is StopCause::parent.
  StopCause cause = StopCause::user;
  /// A text for the report.
  std::string reason = {};
  /// How long to wait for operations that do not end before they are given up. Negative: 0. Empty:
  /// TreeOptions::stop_grace.
  std::optional<Duration> deadline = {};
  /// Called once on the loop thread if StopResult::ok is true, when all stopped agents have settled. If an
  /// earlier stop or delete closed the agent, it is called when that one has settled. Not called if the tree
  /// or the Runtime is destroyed before. An exception is caught and logged.
  std::function<void(const StopReport&)> on_settled = {};
  /// How many operations to cut on the calling thread.
  StopCut cut = StopCut::all;
};

/// The result of stop().
struct StopResult {
  /// False if the stop was refused. `reason` is then `agent_not_found`, `missing_agent_id`, `runtime_gone`,
  /// `not_child_agent`, `cannot_stop_user`, or `out_of_memory` (no agent was closed and no report follows;
  /// call again).
  bool ok = false;
  /// True if this call closed the agent. If `ok` is true and this is false, `reason` is the state in which
  /// the agent was: `stopping`, `stopped` or `terminating`.
  bool stopped = false;
  /// `none` if this call closed the agent; else why not.
  Errc reason = Errc::none;
  /// True: when the call returned, the loop was in no action of the subtree, except for the callback that
  /// made the call. False: the loop thread was in one action of the subtree; what that action produces is
  /// dropped (G1).
  bool quiet = true;
  /// How many operations the call cut on the calling thread (see StopCut).
  std::size_t calls_cut = 0;
};

/// Options of resume().
struct ResumeOptions {
  /// Must be empty: only the host may resume. Otherwise the call is refused with `not_allowed`.
  std::string caller = {};
  /// True: also resumes the descendants that stopped because this agent was stopped, but not those on which
  /// stop() was called directly.
  bool cascade = true;
};

/// The result of resume().
struct ResumeResult {
  /// True if the agent was resumed, or was not stopped (`not_stopped`).
  bool ok = false;
  /// True if this call opened the agent.
  bool resumed = false;
  /// `none` if the agent was resumed. Otherwise `agent_not_found`, `missing_agent_id`, `runtime_gone`,
  /// `not_allowed`, `not_stopped`, `stopping` (the stop has not settled yet), `terminating`,
  /// `parent_stopped`, or `out_of_memory` (nothing was changed).
  Errc reason = Errc::none;
};

/// What a delete did. Passed to TerminateOptions::on_settled when all deleted agents have settled.
struct TerminateReport {
  /// The agent on which terminate() was called.
  std::string agent_id = {};
  StopCause cause = StopCause::terminate;  ///< Always StopCause::terminate.
  std::string reason = {};                 ///< TerminateOptions::reason
  /// The descendants that were deleted, children before parents.
  std::vector<std::string> cascade_terminated = {};
  /// The agents with an operation that did not end within the grace period, including the agent itself. They
  /// are deleted nevertheless.
  std::vector<std::string> cascade_failed = {};
  /// Messages that were dropped from mailboxes, including the mailbox of the agent itself.
  std::size_t messages_dropped = 0;
};

/// Options of terminate(). A delete always includes all descendants.
struct TerminateOptions {
  /// Empty: the host calls. Otherwise the id of the agent on whose behalf the call is made: an agent may
  /// delete only its own children (`not_child_agent`).
  std::string caller = {};
  /// A text for the report.
  std::string reason = {};
  /// How long to wait for operations that do not end before they are given up. Negative: 0. Empty:
  /// TreeOptions::stop_grace.
  std::optional<Duration> deadline = {};
  /// Called once on the loop thread if TerminateResult::ok is true, when the agents are deleted. Not called
  /// if the tree or the Runtime is destroyed before. An exception is caught and logged.
  std::function<void(const TerminateReport&)> on_settled = {};
  /// How many operations to cut on the calling thread.
  StopCut cut = StopCut::all;
};

/// The result of terminate().
struct TerminateResult {
  /// False if the delete was refused. `reason` is then `agent_not_found`, `missing_agent_id`, `runtime_gone`,
  /// `not_child_agent`, `cannot_delete_system_agent`, or `out_of_memory` (no agent was closed and no report
  /// follows; call again).
  bool ok = false;
  /// True if this call started the delete. A stop that is under way finishes first. The agent's id can be
  /// used again when the agent is deleted. If `ok` is true and this is false, `reason` is `terminating`.
  bool terminated = false;
  /// `none` if this call started the delete; else why not.
  Errc reason = Errc::none;
  /// True: when the call returned, the loop was in no action of the subtree, except for the callback that
  /// made the call. False: the loop thread was in one action of the subtree; what that action produces is
  /// dropped (G1).
  bool quiet = true;
  /// How many operations the call cut on the calling thread (see StopCut).
  std::size_t calls_cut = 0;
};

}  // namespace agentcore
