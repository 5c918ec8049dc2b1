// Scheduler: runs the steps of agents with messages. All @loop_thread.
#pragma once

#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "mailbox/message_pool.hpp"
#include "tree/control_queue.hpp"
#include "tree/progress.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <cstdint>

namespace agentcore::detail::tree {

// One step is one message of one agent. After a step the tree may be destroyed.
class Scheduler {
 public:
  Scheduler(TreeShared& tree, turn::Turns& turns, events::EventHub& hub)
      : tree_(tree), turns_(turns), hub_(hub) {}

  // Runs a round: a step of each agent that is ready. Small rounds follow one another, up to a few steps.
  // Ends early when a verb comes meanwhile, which takes precedence (C13), or when the budget is used up.
  // Throws std::bad_alloc; the agent then stays ready.
  void run_round(loop::PollBudget& budget);
  // Makes `node` ready if it may take a message.
  void schedule(core::Node& node) noexcept;
  // The turn of `node` is over: the id of its message stands for no message any more.
  void end_message(core::Node& node) noexcept;
  // The second half of an abort or an interrupt: the first half has made the agent idle and cut its calls;
  // here its turn ends and its state is reported.
  void finish_end_of_turn(const ControlOp& op);
  // The second half of release_queue().
  void finish_release(const ControlOp& op);
  // The second half of steer().
  void finish_steer(const ControlOp& op);
  // Turns may be parked from now on.
  void expect_parked() noexcept { parks_ = true; }
  // Beginnings were withheld, or are not any more: looks at all agents.
  void visit_agents() noexcept {
    parks_ = true;
    agent_pass_.restart();
  }
  // Goes on with what concerns a whole subtree: its interrupted turns, its released mailboxes, its pause.
  Progress run_passes(loop::PollBudget& budget);
  bool has_work() const noexcept {
    return interrupt_pass_.is_active() || agent_pass_.is_active() || turns_.parked().has_work();
  }

 private:
  // Which messages of an agent may begin a turn now.
  enum class Begins : std::uint8_t { none, delegated, all };

  bool step(core::Node& node);
  bool prepare_step(core::Node& node);
  static Begins begins(const core::Node& node, core::PackedState packed) noexcept;
  std::uint32_t take(core::Node& node, Begins begins) noexcept;
  void put_back(core::Node& node, std::uint32_t number) noexcept;
  std::uint32_t position_of(std::uint32_t number) const noexcept;
  void drop_blocked(core::Node& node) noexcept;
  void begin(core::Node& node, std::uint32_t epoch, std::uint32_t number);
  void drop(core::Node& node, std::uint32_t number, DropReason reason) noexcept;
  bool has_next(const core::Node& node) const noexcept;
  bool wants_step(core::Node& node) noexcept;
  mailbox::DroppedMessages take_dropped(core::Node& node, const ControlOp& op) noexcept;
  void report_end_of_turn(const ControlOp& op);
  void end_if_interrupted(std::uint32_t slot) noexcept;
  void visit(core::Node& node) noexcept;
  bool is_gone() const noexcept { return tree_.is_closed() || hub_.closed(); }

  TreeShared& tree_;
  turn::Turns& turns_;
  events::EventHub& hub_;
  SlotPass interrupt_pass_;  // over the operations: ends the turns of interrupted subtrees
  SlotPass agent_pass_;      // over the agents: those of released, paused or unpaused subtrees
  bool parks_ = false;       // turns may be parked, without an operation
};

}  // namespace agentcore::detail::tree
