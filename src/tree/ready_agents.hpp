// ReadyAgents: the agents with work to do.
#pragma once

#include "core/mpsc_stack.hpp"
#include "core/node.hpp"

namespace agentcore::detail::tree {

// Any thread adds; the loop thread takes the agents out in rounds, in the order of adding, one step each
// (Q5). An agent is in the list at most once: Node::scheduled is set while it is. A slot that was reused
// meanwhile costs one check and nothing else.
class ReadyAgents {
 public:
  // False when it was in already. @threadsafe
  bool add(core::Node& node) noexcept {
    if (node.scheduled.exchange(true, std::memory_order_seq_cst)) return false;
    added_.push(node);
    return true;
  }

  // @loop_thread, as all that follows
  bool empty() const noexcept { return !round_ && !again_first_ && added_.empty(); }

  // Begins a round with all agents added since the last one, unless a round is unfinished.
  void begin_round() noexcept {
    if (round_) return;
    // Agents with more work come first, then the new ones, oldest first.
    round_ = added_.take();
    if (!again_first_) return;
    Added::link(*again_last_, round_);
    round_ = again_first_;
    again_first_ = again_last_ = nullptr;
  }
  // The next agent of the round, or null at its end. It is still scheduled: afterwards the caller calls
  // again() or done(). Agents added from now on belong to the next round.
  core::Node* next() noexcept {
    core::Node* node = round_;
    if (!node) return nullptr;
    round_ = Added::next(*node);
    if (round_) {
      __builtin_prefetch(round_, 1);
      __builtin_prefetch(reinterpret_cast<const char*>(round_) + 64, 1);
    }
    return node;
  }
  // The agent has more work, in the next round.
  void again(core::Node& node) noexcept {
    Added::link(node, nullptr);
    if (again_last_)
      Added::link(*again_last_, &node);
    else
      again_first_ = &node;
    again_last_ = &node;
  }
  // Removes the agent from the list. A sender that found `scheduled` set had pushed its message before; a
  // check of the mailbox after this call finds the message.
  void done(core::Node& node) noexcept { node.scheduled.exchange(false, std::memory_order_seq_cst); }

 private:
  using Added = core::MpscStack<core::Node, &core::Node::next_ready>;

  Added added_;
  core::Node* round_ = nullptr;
  core::Node* again_first_ = nullptr;
  core::Node* again_last_ = nullptr;
};

}  // namespace agentcore::detail::tree
