#include "tree/scheduler.hpp"

#include "core/gates.hpp"
#include "events/message_listener.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/dropped_messages.hpp"

#include <memory>
#include <optional>
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
  if (const std::uint32_t number = mailbox::take(node, tree_.pool)) begin(node, packed.epoch(), number);
}

// Begins a turn with the message of that cell, which belongs to the turn until end_message(). If a verb comes
// first, or an allocation fails, the message is back in the mailbox.
void Scheduler::begin(Node& node, std::uint32_t epoch, std::uint32_t number) {
  mailbox::Cell& cell = tree_.pool[number];
  const MessageId id = tree_.pool.id_of(number);
  std::shared_ptr<events::MessageListener> listener;
  std::optional<std::uint32_t> own_epoch;
  try {
    turns_.prepare(node, cell.message);
    if (cell.options)
      listener =
          events::MessageListener::listen(hub_, node.id(), id, node.turns + std::uint64_t{1}, cell.options);
    node.message.store(number, std::memory_order_relaxed);
    own_epoch = turn::TurnRunner::claim(node, epoch, cell.message);
  } catch (...) {
    mailbox::put_back(node, tree_.pool, number);
    throw;
  }
  if (own_epoch) return turns_.begin(node, std::exchange(cell.message, Message{}), id, *own_epoch);
  node.message.store(0, std::memory_order_relaxed);
  if (listener) cell.options = listener->withdraw();
  mailbox::put_back(node, tree_.pool, number);
}

void Scheduler::end_message(Node& node) noexcept {
  const std::uint32_t number = node.message.load(std::memory_order_relaxed);
  if (!number) return;
  tree_.pool.end_id(number);
  node.message.store(0, std::memory_order_release);
  tree_.pool.give_back(number);
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
  mailbox::DroppedMessages dropped;
  if (op.clear_up_to) dropped = mailbox::clear_up_to(*node, tree_.pool, *op.clear_up_to);
  turns_.interrupt_before(*node, op.epoch);
  if (tree_.is_closed()) return;
  report_dropped(hub_, *node, dropped, DropReason::queue_cleared);
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
