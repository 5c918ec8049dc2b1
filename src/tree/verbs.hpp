// Verbs: the first halves of stop, resume and terminate. All @threadsafe.
#pragma once

#include "loop/time.hpp"
#include "tree/control_queue.hpp"
#include "tree/tree_shared.hpp"
#include "turn/operations.hpp"

#include <agentcore/verbs.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace agentcore::detail::tree {

// What resumes an agent. A message (AgentSpec::auto_resume) does not resume one whose lease has run out; nor
// one below a deferred stop, which would refuse the message, but for that of a tool call.
enum class ResumedBy : std::uint8_t { host, message, message_of_call };

// A verb has two halves. The first is here: it runs on the caller's thread, at any time, concurrently with
// everything else. It closes or opens a gate with one compare-and-set of one packed state, cuts a bounded
// number of operations on the wire, and queues a ControlOp. The second half runs on the loop thread
// (Settler).
//
// Stop, resume and terminate read the ancestors, replace the packed state and queue their ControlOp under the
// mutex TreeShared::closing: no other of them runs between these steps, and the loop reads the operations in
// the order in which they took effect. The end of the tree takes the same mutex: no verb decides by an
// outdated read of the ancestors.
class Verbs {
 public:
  Verbs(TreeShared& tree, turn::Operations& operations) : tree_(tree), operations_(operations) {}

  // `given`: the cause that the host gave, if `options` has another one.
  VerbResult stop(core::NodeId id, StopOptions&& options, std::optional<StopCause> given = {});
  // The same for a host, which may not give every cause (StopOptions::cause).
  VerbResult stop_for_host(core::NodeId id, StopOptions&& options);
  VerbResult resume(core::NodeId id, const ResumeOptions& options, ResumedBy by = ResumedBy::host);
  VerbResult terminate(core::NodeId id, TerminateOptions&& options);

  VerbResult renew(core::NodeId id);
  // The lease has run out: stops its agent. False: there was no memory for that.
  bool stop_for(core::Lease& lease) noexcept;
  // A deferred stop or delete takes effect. Returns `op` if it must wait until the loop has read the
  // withdrawals since the first `read`, one of which may be its own; otherwise it is queued.
  // @loop_thread
  std::unique_ptr<ControlOp> harden(std::unique_ptr<ControlOp> op, std::uint64_t read);

  // The tree or its Runtime is destroyed: closes the gate of the root sentinel, so that every later admission
  // of an agent is refused.
  void close_tree() noexcept;

 private:
  // What a stop has done under the mutex.
  struct Closed {
    Closed(VerbResult done, bool must_wake = false) noexcept  // NOLINT(google-explicit-constructor)
        : result(done), wakes(must_wake) {}
    VerbResult result;
    bool wakes;  // true: the loop is to be woken after the mutex is released, although nothing is queued
  };

  // What is left of `op` the caller destroys after the mutex is released: that may run code of the host, and
  // so may a wake-up.
  Closed close_for_stop(core::Node& node, std::unique_ptr<ControlOp>& op, std::string_view caller)
      AGENTCORE_REQUIRES(tree_.closing);
  Closed locked_stop(core::Node& node, std::unique_ptr<ControlOp>& op, std::string_view caller);
  bool keep_stopped(core::Node& node, core::NodeId id) noexcept AGENTCORE_REQUIRES(tree_.closing);
  VerbResult close_for_delete(core::Node& node, std::unique_ptr<ControlOp>& op, std::string_view caller)
      AGENTCORE_REQUIRES(tree_.closing);
  // What became of a deferred stop or delete.
  enum class Request : std::uint8_t {
    added,        // it is pending
    nothing_new,  // what is pending includes it
    outdated,     // the packed state has changed: look once more
  };
  Request request(core::Node& node, core::PackedState expected, const ControlOp& op) noexcept
      AGENTCORE_REQUIRES(tree_.closing);
  std::optional<VerbResult> defer(core::Node& node, core::PackedState expected,
                                  std::unique_ptr<ControlOp>& op) AGENTCORE_REQUIRES(tree_.closing);
  std::size_t cut(const core::Node& node, StopCut most);

  VerbResult open_for_resume(core::Node& node, std::unique_ptr<ControlOp> op, ResumedBy by);
  VerbResult stop_below(core::NodeId id, StopOptions&& options, std::optional<StopCause> given);
  Closed close_below(core::Node& node, core::NodeId id, StopOptions& options, std::optional<StopCause> given);
  enum class ChildStop : std::uint8_t { done, done_and_wakes, outdated };
  ChildStop close_child(core::Node& child, ControlOp& op) noexcept AGENTCORE_REQUIRES(tree_.closing);
  VerbResult queue(std::unique_ptr<ControlOp>& op) noexcept AGENTCORE_REQUIRES(tree_.closing);
  void wait_for_other(std::unique_ptr<ControlOp>& op) AGENTCORE_REQUIRES(tree_.closing);
  // The time at which a deferred verb takes effect at the latest.
  std::optional<TimePoint> escalation_of(const std::optional<Duration>& after) const noexcept {
    return after ? std::optional(loop::later(tree_.engine->clock().now(), *after)) : std::nullopt;
  }
  bool is_parent(std::string_view caller, const core::Node& node) const noexcept;

  TreeShared& tree_;
  turn::Operations& operations_;
  std::uint64_t withdrawals_ AGENTCORE_GUARDED_BY(tree_.closing) = 0;  // of deferred stops
};

}  // namespace agentcore::detail::tree
