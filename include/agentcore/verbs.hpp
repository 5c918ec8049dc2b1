// The verbs' options, results and reports: send, abort, stop, resume, terminate.
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

// Why an agent was stopped, aborted or deleted.
enum class StopCause : unsigned char { user, parent, deadline, budget, shutdown, terminate };
std::string_view to_string(StopCause cause) noexcept;

// The answer to a send. When it is not accepted, nothing was queued and `reason` says why (G12, X5): a state
// (`agent_stopping`, `agent_stopped`, `agent_terminating`), `agent_not_found`, `runtime_gone`,
// `mailbox_full`, `message_too_large`, `invalid_utf8`, `empty_message` or `out_of_memory`.
struct [[nodiscard]] SendResult {
  bool accepted = false;
  Errc reason = Errc::none;

  explicit operator bool() const noexcept { return accepted; }
};

struct AbortOptions {
  bool clear_queue = false;  // drop the queued messages too; else the next one starts at once (X3)
  std::string reason = {};   // for the log
};

// `ok` is false when there is no such agent (`reason` is `missing_agent_id`, `agent_not_found` or
// `runtime_gone`, A10-A16), or when an allocation failed (`out_of_memory`; nothing was changed). `aborted` is
// true when a model call was ended; else `reason` is `not_waiting_llm`.
struct AbortResult {
  bool ok = false;
  bool aborted = false;
  Errc reason = Errc::none;
};

// What a stop did, told once everything of it has settled (X32).
struct StopReport {
  std::string agent_id = {};
  StopCause cause = StopCause::user;
  std::string reason = {};
  std::vector<std::string> cascade_stopped =
      {};  // descendants that this stop stopped, children before parents
  std::vector<std::string> cascade_failed =
      {};  // what did not let go in time, the agent itself included: stopped all the same
  std::size_t messages_dropped = 0;  // emptied out of mailboxes, the agent's own included
};

// How many open calls (model calls, tool calls and background tasks) a stop or a delete cuts on the calling
// thread, before it returns, even while the loop is busy: it triggers their stop tokens, and the connections
// of model calls are shut down. The loop cuts the others at the start of its next poll, before anything else.
enum class StopCut : unsigned char {
  all,  // up to 200. One call over HTTP takes 15 to 45 us, so the verb returns after 3 to 9 ms at most.
  few,  // up to 8: for a thread that may be delayed by a fraction of a millisecond only
};

struct StopOptions {
  std::string caller =
      {};  // empty: the host. Else the id of the agent that asks: it may stop only its children.
  // False: only this agent; its children go on. A later stop with cascade then stops the children too; the
  // agent itself has settled already and is not told a second time.
  bool cascade = true;
  StopCause cause = StopCause::user;
  std::string reason = {};
  std::optional<Duration> deadline =
      {};  // until calls that do not end are given up; below 0: as 0; default TreeOptions::stop_grace
  std::function<void(const StopReport&)> on_settled = {};  // once, on the loop thread, if `ok`
  StopCut cut = StopCut::all;
};

// `ok` is false when it was refused: `agent_not_found`, `missing_agent_id`, `runtime_gone`,
// `not_child_agent`, `cannot_stop_user`, `out_of_memory` (no gate was closed, no report follows; call again).
// `stopped` is true when this very call closed the gate; else `reason` is the state found: `stopping`,
// `stopped` or `terminating` (C12, C20, X13). `quiet`: nothing of the subtree was running when the call
// returned, but for the callback that made it. False: the loop thread was inside one action of the subtree;
// what that action produces is dropped (G1).
// `calls_cut`: how many calls it cut on the calling thread, see StopCut.
struct StopResult {
  bool ok = false;
  bool stopped = false;
  Errc reason = Errc::none;
  bool quiet = true;
  std::size_t calls_cut = 0;
};

struct ResumeOptions {
  std::string caller = {};  // not empty: refused with `not_allowed`; only the host resumes (X4)
  bool cascade =
      true;  // also the descendants that stopped because this agent did; not those stopped by themselves
};

// `reason` is `agent_not_found`, `missing_agent_id`, `runtime_gone`, `not_allowed`, `not_stopped`, `stopping`
// (not settled yet), `terminating`, `parent_stopped` or `out_of_memory` (nothing was changed).
struct ResumeResult {
  bool ok = false;
  bool resumed = false;
  Errc reason = Errc::none;
};

struct TerminateReport {
  std::string agent_id = {};
  StopCause cause = StopCause::terminate;
  std::string reason = {};
  std::vector<std::string> cascade_terminated = {};  // descendants, children before parents
  std::vector<std::string> cascade_failed =
      {};  // what did not let go in time, the agent itself included: deleted all the same
  std::size_t messages_dropped = 0;
};

struct TerminateOptions {
  std::string caller = {};  // as in StopOptions
  std::string reason = {};
  std::optional<Duration> deadline = {};  // as in StopOptions
  std::function<void(const TerminateReport&)> on_settled = {};
  StopCut cut = StopCut::all;
};

// `ok` is false when it was refused: `agent_not_found`, `missing_agent_id`, `runtime_gone`,
// `not_child_agent`, `cannot_delete_system_agent`, `out_of_memory` (as in StopResult). `terminated` is true
// when this very call decided the deletion; a stop that is under way finishes first (X13). The id is free
// again when the agent is gone (X33). `calls_cut`: see StopCut.
struct TerminateResult {
  bool ok = false;
  bool terminated = false;
  Errc reason = Errc::none;
  bool quiet = true;
  std::size_t calls_cut = 0;
};

}  // namespace agentcore
