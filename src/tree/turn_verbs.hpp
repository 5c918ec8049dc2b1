// TurnVerbs: the first halves of abort, interrupt and release_queue, and acknowledge. All @threadsafe.
#pragma once

#include "tree/control_queue.hpp"
#include "tree/tree_shared.hpp"
#include "turn/end_origins.hpp"
#include "turn/operations.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/verbs.hpp>

#include <cstdint>
#include <memory>

namespace agentcore::detail::tree {

// Verbs that end a turn, or keep the next one from beginning, and leave the gate open. The first half is
// here, as in Verbs; the second is in Scheduler.
//
// An abort, and an interrupt of one agent, is one compare-and-set of its packed state: the turn that was read
// has ended, or the verb tries again. An interrupt of a subtree is one store of a number, with which turns
// compare the number at their beginning (core::is_interrupted).
//
// AgentTable::erasing() is held for what a verb writes beside the packed state: so it is written for an agent
// that the verb has found alive, and not in a later life of the slot; and a hold of a subtree, its release
// and the number of an interrupt are each one step for other verbs.
class TurnVerbs {
 public:
  TurnVerbs(TreeShared& tree, turn::Operations& operations, turn::EndOrigins& origins)
      : tree_(tree), operations_(operations), origins_(origins) {}

  VerbResult abort(core::NodeId id, AbortOptions&& options);
  VerbResult interrupt(core::NodeId id, InterruptOptions&& options);
  VerbResult release_queue(core::NodeId id);
  ChangeResult acknowledge(core::NodeId id, const Acknowledgement& seen) noexcept;

 private:
  // What an interrupt by the id of a message found.
  enum class Found : std::uint8_t { running, queued, over, elsewhere };

  VerbResult interrupt_turn(core::Node& node, const InterruptOptions& options, std::unique_ptr<ControlOp> op);
  VerbResult interrupt_message(core::Node& node, const InterruptOptions& options,
                               std::unique_ptr<ControlOp> op);
  VerbResult interrupt_subtree(core::Node& node, const InterruptOptions& options,
                               std::unique_ptr<ControlOp> op);
  Found find(const core::Node& node, core::NodeId agent, core::PackedState packed, MessageId message) const;
  // Why there is nothing to release; none: it is released, and `op` says whether that of the subtree is, too.
  Errc release(core::Node& node, ControlOp& op);
  VerbResult end_turn(core::Node& node, const InterruptOptions& options, std::unique_ptr<ControlOp> op);
  static void prepare_queue(const core::Node& node, QueueAction queue, core::PackedState packed,
                            ControlOp& op) noexcept;
  void finish(std::unique_ptr<ControlOp> op) noexcept;

  TreeShared& tree_;
  turn::Operations& operations_;
  turn::EndOrigins& origins_;
};

}  // namespace agentcore::detail::tree
