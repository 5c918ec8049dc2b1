// ControlQueue: the second halves of verbs, queued for the loop thread.
#pragma once

#include "core/mpsc_stack.hpp"
#include "core/node.hpp"
#include "core/references.hpp"
#include "mailbox/cleared_messages.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/message.hpp>
#include <agentcore/stop_audit.hpp>
#include <agentcore/stop_origin.hpp>
#include <agentcore/verbs.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace agentcore::detail::tree {

enum class Verb : std::uint8_t {
  abort,
  interrupt,
  release_queue,
  stop,
  resume,
  terminate,
  end_call,
  end_task,
  steer,
  pause,
  unpause
};

// What the record of a stop or a delete has that only the verb knows.
struct AuditNote {
  StopTime called;
  std::optional<StopTime> closed;
  StopWhen when = StopWhen::now;  // as the caller wanted it
  bool was_deferred = false;      // it was pending
  std::string below;              // stop: of the descendants of this agent
};

// The second half of one verb.
struct ControlOp {
  Verb verb = Verb::stop;
  core::NodeId agent = 0;
  std::string agent_name;  // for the report; only if one was requested, like the two that follow
  std::string caller;
  std::string reason;
  std::string call_id;                 // end_call, end_task: the id of the call or task
  std::optional<std::uint32_t> epoch;  // of the agent after it, if the verb has ended a turn
  std::uint32_t interrupt = 0;         // interrupt of a subtree: its number; 0: of one turn
  MessageId withdrawn;                 // interrupt by id: a message that waits; no turn may begin with it
  bool hold = false;                   // interrupt: the mailbox is held
  bool took_effect = true;             // false: another verb did it before; this one only waits for the end
  bool cascade = true;
  core::NodeId below = 0;  // stop: of this child, as a part of a stop of all below that agent
  bool logs = false;       // the part that has the log record
  StopCause cause = StopCause::user;
  StopCause given_cause = StopCause::user;  // what the host gave, if it may not give that; see Agent::stop()
  StopOrigin origin;                        // for events and the log
  std::optional<Duration> grace;
  StopWhen when = StopWhen::now;         // stop, terminate
  std::optional<TimePoint> escalate_at;  // if `when` is later
  bool was_pending = false;              // it took effect as a deferred stop or delete
  std::optional<StopWhen> forks;         // terminate: when the forks are deleted; nothing: they are not
  bool withdraws = false;                // resume: of a deferred stop
  std::uint64_t withdrawals = 0;         // how many such resumes there were, this one included
  std::function<void(const StopReport&)> on_settled;  // stop, terminate
  std::function<void()> on_rest;                      // pause
  std::optional<std::uint32_t> clear_up_to;        // the messages to drop: the end of the mailbox at the call
  mutable mailbox::ClearedMessages::Mark cleared;  // of these, or of `withdrawn`
  mutable bool is_recorded = false;                // the Recorder has noted it
  std::unique_ptr<AuditNote> audit;                // null: no record is to be made of it
  ControlOp* next = nullptr;

  bool wants_report() const noexcept { return on_settled != nullptr; }
  // True if its job collects what the report and the record have in common.
  bool collects() const noexcept { return wants_report() || audit; }
  // True for a verb that has a grace period and has closed a gate.
  bool closes() const noexcept { return took_effect && (verb == Verb::stop || verb == Verb::terminate); }
};

// Creates an operation and calls `fill` with it; null when an allocation fails. A verb creates it before it
// changes any state.
template <typename Fill>
std::unique_ptr<ControlOp> prepared(Fill&& fill) noexcept {
  try {
    auto op = std::make_unique<ControlOp>();
    std::forward<Fill>(fill)(*op);
    return op;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Any thread pushes; the loop thread takes the operations in the order in which they were pushed.
class ControlQueue {
 public:
  ControlQueue() = default;
  ControlQueue(const ControlQueue&) = delete;
  ControlQueue& operator=(const ControlQueue&) = delete;
  ~ControlQueue() { clear(); }

  // @threadsafe
  void push(std::unique_ptr<ControlOp> op) noexcept { pushed_.push(*op.release()); }

  // @loop_thread, as all that follows
  bool empty() const noexcept { return !taken_ && pushed_.empty(); }
  // Makes all operations pushed so far available to next(), unless an earlier batch is left.
  void begin_batch() noexcept {
    if (!taken_) taken_ = pushed_.take();
  }
  // The oldest operation of the batch; null at its end.
  std::unique_ptr<ControlOp> next() noexcept {
    if (!taken_) return nullptr;
    return std::unique_ptr<ControlOp>(std::exchange(taken_, taken_->next));
  }
  bool has_next() const noexcept { return taken_; }
  // Puts `op` back: next() returns it again.
  void put_back(std::unique_ptr<ControlOp> op) noexcept {
    op->next = taken_;
    taken_ = op.release();
  }
  // How many operations are queued for these agents (for leak tests).
  std::size_t count(const core::References& refers) const noexcept {
    std::size_t count = 0;
    for_each([&](const ControlOp& op) { count += refers(op.agent) || refers(op.below); });
    return count;
  }
  // Calls visit(operation) for each that is queued.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const ControlOp* op = taken_; op; op = op->next) visit(*op);
    pushed_.for_each(visit);
  }
  void clear() noexcept {
    do {
      while (next()) {
      }
      begin_batch();
    } while (has_next());
  }

 private:
  core::MpscStack<ControlOp, &ControlOp::next> pushed_;
  ControlOp* taken_ = nullptr;  // oldest first
};

}  // namespace agentcore::detail::tree
