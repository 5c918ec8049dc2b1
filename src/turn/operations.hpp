// Operations: the in-flight operations of a tree's agents, and how any thread stops them.
#pragma once

#include "core/agent_table.hpp"
#include "core/atomic.hpp"
#include "core/mutex.hpp"
#include "core/operation_id.hpp"
#include "turn/call.hpp"

#include <agentcore/event.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/message.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/verbs.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace agentcore::detail::turn {

using core::OperationId;

// One in-flight operation: a model call, a tool call or a background task, from before its start until its
// outcome arrived or it was abandoned.
struct Operation {
  // `summary` is a model call that summarises: a steered message does not end it.
  enum class Kind : std::uint8_t { model_call, summary, tool_call, background };

  core::Node* node = nullptr;  // null: the slot is free
  core::NodeId agent = 0;
  OperationId id;
  std::uint32_t epoch = 0;  // of the agent, when it began
  std::uint32_t next = 0;   // slot + 1 of the same agent's previous operation; 0: none
  std::uint32_t newer = 0;  // slot + 1 of the same agent's following operation; for the loop thread alone
  std::uint64_t turn = 0;
  MessageId message;  // of that turn
  std::size_t late_deltas = 0;
  Kind kind = Kind::model_call;
  bool waits = false;                 // a model call whose client waits for the end of a pause
  bool over = false;                  // its outcome is not needed any more, but has not arrived yet
  bool lingers = false;               // a verb has ended the call, and the timer is that of its grace period
  Timer timer = {};                   // of the time-out of a tool
  std::shared_ptr<Call> call;         // null: a model call
  StopSource stop{std::nostopstate};  // created only for running operations, not for agents
  std::optional<DiscardReason> late;  // why its outcome is late, if something has ended it

  // From now on the outcome is late. The first reason counts.
  void end(DiscardReason reason) noexcept {
    over = true;
    if (!late) late = reason;
  }
};

// True if the agent may go on with the operation: for a background task, its gates are open; otherwise its
// turn is the one in progress, and neither stopped nor ended by a verb. @threadsafe, under the lock
bool is_admitted(const Operation& operation) noexcept;

// The same for the loop thread: false also if the deadline of its turn has passed. @loop_thread
bool is_admitted_now(const Operation& operation) noexcept;

// The kind of an operation, for events and lists.
TaskKind task_kind(Operation::Kind kind) noexcept;

// The registry of all in-flight operations (I1): however an operation ends, it is closed here.
//
// The loop thread is the only writer. The mutex is for stopping threads, which copy a few stop sources out;
// it is never held while a source is triggered or destroyed.
class Operations {
 public:
  // Registers an operation of `node`. @loop_thread
  OperationId open(core::Node& node, Operation::Kind kind, std::uint32_t epoch, std::uint64_t turn,
                   std::shared_ptr<Call> call = {});
  // Unregisters an operation that is registered. Never allocates. @loop_thread
  void close(OperationId id) noexcept;
  // The tree has closed: triggers every stop token. From now on find() finds nothing, so that no later
  // outcome reaches a turn. @loop_thread
  void shut_down() AGENTCORE_RUNS_HOST_CODE;
  // The same without the stop tokens. @loop_thread
  void refuse_outcomes() noexcept { refuses_outcomes_ = true; }
  // Stops the clocks of all time-outs, and releases the tools: a tool may hold a handle of the tree, which
  // would keep the tree in memory. @loop_thread
  void drop_timers_and_tools() noexcept;

  // The operation, or null if it has ended or the tree is closed. For ids from outside. @loop_thread
  Operation* find(OperationId id) noexcept;
  // An operation that is registered. The reference is valid until the next open(). @loop_thread
  Operation& operator[](OperationId id) noexcept { return slots_[id.slot]; }
  // Any slot below slots(), free or in use. @loop_thread
  const Operation& at_slot(std::uint32_t slot) const noexcept { return slots_[slot]; }
  std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  std::size_t open_count() const noexcept { return open_.load(std::memory_order_relaxed); }

  // Calls visit(operation) for each operation of `node`, newest first; `visit` may close its argument.
  // @loop_thread
  template <typename Visit>
  void for_each(const core::Node& node, Visit&& visit) const {
    for (std::uint32_t at = node.newest_operation.load(std::memory_order_relaxed); at;) {
      const Operation& operation = slots_[at - 1];
      at = operation.next;
      visit(operation);
    }
  }

  // Triggers the stop token of a registered operation. @loop_thread
  void cut(OperationId id);
  // The part of a cut that a stopping thread does itself, after it closed a gate: triggers operations of
  // `root`, and of agents below it, whose gates are closed; a bounded number. Returns the number. @threadsafe
  std::size_t cut_closed_below(const core::Node& root, bool with_subtree,
                               StopCut cut) AGENTCORE_RUNS_HOST_CODE;
  // Triggers all operations with closed gates that stopping threads did not trigger. @loop_thread
  void cut_left() AGENTCORE_RUNS_HOST_CODE;
  bool has_left() const noexcept { return left_.load(std::memory_order_acquire); }
  // For a verb that has ended the turn of that epoch: triggers its operations; at most as many as `cut` says,
  // and cut_left() the others. Returns the number. @threadsafe
  std::size_t cut_turn(const core::Node& node, StopCut cut) AGENTCORE_RUNS_HOST_CODE;
  // The stop source of the newest model call of the turn of that epoch; without a state if there is none, or
  // if it is a summary. It must be triggered after the lock of the caller was released. @threadsafe
  StopSource model_call_of(const core::Node& node, std::uint32_t epoch);
  // True if the model call of the turn of that epoch is a summary. @threadsafe
  bool has_summary(const core::Node& node, std::uint32_t epoch);

 private:
  struct Batch;
  bool copy_own(const core::Node& root, Batch& batch);
  bool copy_closed(const core::Node& root, bool with_subtree, std::size_t& next, std::size_t room,
                   Batch& batch);

  // Guards `slots_` against other threads. The loop thread, which alone writes them, reads them without it.
  core::Mutex mutex_;
  std::vector<Operation> slots_;
  std::vector<std::uint32_t> free_ AGENTCORE_GUARDED_BY(mutex_);
  std::uint64_t next_serial_ AGENTCORE_GUARDED_BY(mutex_) = 1;
  core::Atomic<std::size_t> open_{0};
  core::Atomic<bool> left_{false};  // an operation with a closed gate may be untriggered
  bool refuses_outcomes_ = false;
};

}  // namespace agentcore::detail::turn
