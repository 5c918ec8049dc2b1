#include "tree/scheduler.hpp"

#include "core/gates.hpp"
#include "mailbox/mailbox.hpp"

#include <utility>

namespace agentcore::detail::tree {

using core::Node;
using core::PackedState;

void Scheduler::run_round(loop::PollBudget& budget) {
  ReadyList& ready = tree_.ready;
  ready.begin_round();
  while (tree_.control.empty() && budget.spend()) {
    Node* node = ready.next();
    if (!node) return;
    try {
      if (!turn::Turns::is_active(*node)) step(*node);  // else the end of its turn schedules it
    } catch (...) {                                     // an allocation failed: the next round tries again
      ready.again(*node);
      throw;
    }
    if (is_gone()) return;
    if (wants_step(*node))
      ready.again(*node);
    else if (ready.done(*node); wants_step(*node))
      schedule(*node);
  }
}

void Scheduler::step(Node& node) {
  const core::ActiveAgentGuard active(tree_.table, node);
  const PackedState packed = node.load(std::memory_order_seq_cst);
  if (packed.state() != AgentState::idle || !core::admits(node, packed.generation(), packed.epoch())) return;
  if (node.reported != AgentState::idle) {
    // Another thread has resumed the agent, and the loop has not read that operation yet.
    hub_.emit_state(node, AgentState::idle, StopCause::user);
    if (tree_.is_closed() || !core::admits(node, packed.generation(), packed.epoch())) return;
  }
  turns_.prepare(node);
  const std::uint32_t number = mailbox::take(node, tree_.pool);
  if (!number) return;
  Message message = std::move(tree_.pool[number].message);
  tree_.pool.give_back(number);
  turns_.begin(node, std::move(message));
}

// False for a closed agent: its mailbox is emptied when it settles, and a resume schedules it.
bool Scheduler::wants_step(const Node& node) const noexcept {
  const PackedState packed = node.load();
  return packed.state() == AgentState::idle && mailbox::length(node, packed.generation()) != 0 &&
         !turn::Turns::is_active(node) && core::admits(node, packed.generation(), packed.epoch());
}

void Scheduler::schedule(Node& node) noexcept {
  if (wants_step(node) && tree_.ready.add(node)) tree_.waker->notify();
}

void Scheduler::finish_abort(const ControlOp& op) {
  Node* node = tree_.table.find(op.agent);
  if (!node) return;
  if (op.clear_up_to) mailbox::clear_up_to(*node, tree_.pool, *op.clear_up_to);
  turns_.interrupt_before(*node, op.epoch);
  if (tree_.is_closed()) return;
  const PackedState packed = node->load();
  if (packed.state() == AgentState::idle && core::admits(*node, packed.generation(), op.epoch))
    hub_.emit_state(*node, AgentState::idle, op.cause);
  if (tree_.is_closed()) return;
  // Requirement A15 fixes the Chinese words, a translation of the English ones, and the key `agentId`.
  tree_.engine->log(LogLevel::info, "a model call was aborted (LLM 调用已中断)",
                    {{"agent", op.agent_name}, {"reason", op.reason}, {"agentId", op.agent_name}});
  schedule(*node);
}

}  // namespace agentcore::detail::tree
