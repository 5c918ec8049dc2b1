#include "tree/scheduler.hpp"

#include "core/gates.hpp"
#include "events/message_listener.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/dropped_messages.hpp"
#include "tree/steered_messages.hpp"

#include <agentcore/no_limit.hpp>

#include <memory>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;
using core::PackedState;

namespace {

// Rounds follow one another until so many steps were taken: a turn of the tree costs as much as a step.
constexpr std::uint32_t small_round = 8;

// The message of a turn belongs to it until the turn is over, also for a MessageHandler.
bool is_in_turn(const Node& node) noexcept {
  return turn::is_active(node) || node.message.load(std::memory_order_relaxed) != 0;
}

}  // namespace

void Scheduler::run_round(loop::PollBudget& budget) {
  ReadyAgents& ready = tree_.ready;
  const std::uint32_t enough = budget.used() + small_round;
  core::ActiveAgentGuard active(tree_.table);
  ready.begin_round();
  while (tree_.control.empty() && budget.spend()) {
    Node* node = ready.next();
    if (!node && budget.used() <= enough) {
      ready.begin_round();
      node = ready.next();
    }
    if (!node) return;
    bool began = false;
    try {
      active.set(*node);
      if (!turn::is_active(*node)) began = step(*node);  // else the end of its turn schedules it
    } catch (...) {                                      // an allocation failed: the next round tries again
      ready.again(*node);
      throw;
    }
    if (is_gone()) return;
    drop_blocked(*node);
    if (is_gone()) return;
    // After a step that began a turn, the next step checks whether another one may begin.
    if (began ? has_next(*node) : wants_step(*node))
      ready.again(*node);
    else if (ready.done(*node); wants_step(*node))
      schedule(*node);
  }
}

// Returns whether it took a message.
bool Scheduler::step(Node& node) {
  tree_.table.leases().check(node);
  const PackedState packed = node.load(std::memory_order_seq_cst);
  if (packed.state() != AgentState::idle) return false;
  if (!tree_.steers.empty()) {
    release_steered(tree_, hub_, node);
    if (is_gone()) return false;
  }
  Begins may = begins(node, packed);
  if (may == Begins::none) return false;
  if (tree_.persistence || node.reported != AgentState::idle) {
    if (!prepare_step(node)) return false;
    may = begins(node, packed);
    // Last: from here on the next message stays the next one.
    if (may == Begins::all && tree_.persistence && !tree_.persistence->may_begin_next(node)) return false;
  }
  const std::uint32_t number = take(node, may);
  if (number) begin(node, packed.epoch(), number);
  return number != 0;
}

// What may run the host's code before a step. False: no message is taken.
bool Scheduler::prepare_step(Node& node) {
  if (tree_.persistence && !tree_.persistence->load_for_turn(node)) return false;
  // Another thread has resumed the agent, and the loop has not read that operation yet.
  if (node.reported != AgentState::idle) hub_.emit_state(node, AgentState::idle);
  return !tree_.is_closed();
}

// A delegated message is a part of a tool call. It begins its turn before the messages that a deferred stop
// of an ancestor, or a hold of the mailbox, withholds: else the call would wait for ever.
Scheduler::Begins Scheduler::begins(const Node& node, PackedState packed) noexcept {
  if (core::may_begin_turn(node, packed.generation(), packed.epoch())) return Begins::all;
  return core::may_begin_turn(node, packed.generation(), packed.epoch(), core::Grades::own)
             ? Begins::delegated
             : Begins::none;
}

std::uint32_t Scheduler::take(Node& node, Begins begins) noexcept {
  if (begins == Begins::none) return 0;
  const std::uint32_t number =
      begins == Begins::all ? mailbox::take(node, tree_.pool) : mailbox::take_delegated(node, tree_.pool);
  if (number) tree_.cleared.note_taken(node.id(), position_of(number));
  return number;
}

void Scheduler::put_back(Node& node, std::uint32_t number) noexcept {
  mailbox::put_back(node, tree_.pool, number);
  tree_.cleared.note_put_back(node.id(), position_of(number));
}

std::uint32_t Scheduler::position_of(std::uint32_t number) const noexcept {
  return tree_.pool[number].position.load(std::memory_order_relaxed);
}

// The turn of the agent waits for a deferred stop to take effect, and that stop for the tool calls that have
// delegated messages to the agent: they would wait for each other.
void Scheduler::drop_blocked(Node& node) noexcept {
  if (!turn::ParkedTurns::waits_for_stop(node)) return;
  while (const std::uint32_t number = take(node, Begins::delegated)) {
    drop(node, number, DropReason::stopped);
    if (is_gone()) return;
  }
}

// Begins a turn with the message of that cell, which belongs to the turn until end_message(). If a verb comes
// first, or an allocation fails, the message is back in the mailbox.
void Scheduler::begin(Node& node, std::uint32_t epoch, std::uint32_t number) {
  mailbox::Cell& cell = tree_.pool[number];
  const MessageId id = tree_.pool.id_in(cell);
  const TimePoint deadline = cell.latest_begin();
  if (deadline != no_limit && tree_.engine->now() >= deadline)
    return drop(node, number, DropReason::deadline_exceeded);
  std::shared_ptr<events::MessageListener> listener;
  std::unique_ptr<SendOptions> options;
  PackedState claimed;
  try {
    turns_.prepare(node, cell.is_simulated(), cell.is_delegated(), cell.parts(),
                   tree_.persistence ? tree_.persistence->begun(node.id(), id) : 1);
    if (cell.has_callbacks()) {
      options = cell.take_options();
      listener = events::MessageListener::listen(hub_, node.id(), id, node.turns + std::uint64_t{1}, options);
    }
    node.message.store(number | Node::claiming, std::memory_order_relaxed);
    node.turn_mark.store(tree_.table.root_sentinel().interrupts.load(std::memory_order_seq_cst),
                         std::memory_order_relaxed);
    claimed = turn::TurnRunner::claim(node, epoch, cell.is_simulated(), cell.is_delegated());
  } catch (...) {
    cell.return_options(std::move(options));
    put_back(node, number);
    throw;
  }
  // Another thread has just dropped it: the second half of that verb takes it out of the mailbox.
  const bool is_cleared = tree_.cleared.covers(node.id(), position_of(number));
  const bool is_wanted =
      !claimed.is_free() && !is_cleared && !tree_.pool.is_withdrawn(cell) && cell.begin_call();
  if (is_wanted && tree_.pool.begin(cell)) {
    node.message.store(number, std::memory_order_release);
    const bool simulated = cell.is_simulated();
    return turns_.begin(node, cell.take_message(), simulated, id, claimed.epoch(), deadline);
  }
  if (listener) cell.return_options(listener->withdraw());
  node.message.store(0, std::memory_order_relaxed);
  // The tool call that the message is a part of has ended, and is about to withdraw the message itself.
  if (!claimed.is_free() && !is_wanted && !is_cleared) static_cast<void>(tree_.pool.withdraw(number, id));
  const bool stays = is_cleared || !tree_.pool.is_withdrawn(cell);
  if (!claimed.is_free() && (is_cleared || !stays)) turn::TurnRunner::unclaim(node, claimed.epoch());
  if (stays) return put_back(node, number);
  drop(node, number, DropReason::interrupted);
}

// The message of that cell, which was taken, begins no turn.
void Scheduler::drop(Node& node, std::uint32_t number, DropReason reason) noexcept {
  mailbox::DroppedMessages dropped;
  dropped.append(tree_.pool, number);
  report_dropped(hub_, node, dropped, reason);
}

void Scheduler::end_message(Node& node) noexcept {
  const std::uint32_t number = node.message.load(std::memory_order_relaxed);
  if (!number) return;
  mailbox::Cell& cell = tree_.pool[number];
  tree_.pool.end_id(cell);
  node.message.store(0, std::memory_order_release);
  tree_.pool.give_back(cell);
}

// True if a message waits for the agent, which is in no turn.
bool Scheduler::has_next(const Node& node) const noexcept {
  const PackedState packed = node.load();
  if (packed.state() != AgentState::idle || turn::is_active(node)) return false;
  return mailbox::length(node, packed.generation()) != 0 || tree_.steers.count(node.id()) != 0;
}

// False for a closed agent: its mailbox is emptied when it settles, and a resume schedules it.
bool Scheduler::wants_step(Node& node) noexcept {
  if (!has_next(node)) return false;
  const PackedState packed = node.load();
  if (tree_.persistence && tree_.persistence->is_delayed(node.id())) return false;
  const Begins may = begins(node, packed);
  return may == Begins::all || (may == Begins::delegated && mailbox::has_delegated(node, tree_.pool));
}

void Scheduler::schedule(Node& node) noexcept {
  if (!tree_.steers.empty() && !is_in_turn(node)) {
    release_steered(tree_, hub_, node);
    if (is_gone()) return;
  }
  drop_blocked(node);
  if (is_gone()) return;
  if (wants_step(node) && tree_.ready.add(node)) tree_.waker->notify();
}

// Takes out of the mailbox what the verb drops.
mailbox::DroppedMessages Scheduler::take_dropped(Node& node, const ControlOp& op) noexcept {
  mailbox::MessagePool& pool = tree_.pool;
  mailbox::DroppedMessages dropped;
  tree_.cleared.remove(op.cleared, [&] {
    if (op.clear_up_to) dropped = mailbox::clear_up_to(node, pool, *op.clear_up_to);
    if (const std::uint32_t number = op.withdrawn ? pool.find(op.withdrawn) : 0) {
      mailbox::collect(node, pool);
      if (pool.is_withdrawn(pool[number]) && pool[number].belongs_to(node.id()))
        dropped.append(mailbox::remove(node, pool, number));
    }
  });
  return dropped;
}

void Scheduler::finish_end_of_turn(const ControlOp& op) {
  report_end_of_turn(op);
  tree_.cleared.remove(op.cleared, [] {});  // of an agent that is gone
  if (op.epoch) tree_.end_reasons.remove(op.agent, *op.epoch);
  if (op.interrupt) tree_.end_reasons.set_read(op.interrupt);
}

void Scheduler::report_end_of_turn(const ControlOp& op) {
  Node* node = tree_.table.find(op.agent);
  if (!node) return;
  const bool aborts = op.verb == Verb::abort;
  const mailbox::DroppedMessages dropped = take_dropped(*node, op);
  if (op.clear_up_to || op.withdrawn) return_dropped_steers(tree_, hub_, *node);
  if (tree_.is_closed()) return;
  if (op.epoch) turns_.interrupt_before(*node, *op.epoch);
  if (!aborts && op.cascade) {
    interrupt_pass_.restart();
    if (parks_) agent_pass_.restart();
  }
  if (tree_.is_closed()) return;
  report_dropped(hub_, *node, dropped, aborts ? DropReason::queue_dropped : DropReason::interrupted);
  if (tree_.is_closed()) return;
  const PackedState packed = node->load();
  if (op.epoch && packed.state() == AgentState::idle && core::admits(*node, packed.generation(), *op.epoch))
    hub_.emit_state(*node, AgentState::idle, {op.cause, op.origin});
  if (tree_.is_closed()) return;
  if (op.hold) hub_.emit(*node, [](Agent agent) { return QueueHeld{std::move(agent), true}; });
  if (tree_.is_closed()) return;
  // Requirement A15 fixes the Chinese words, a translation of the English ones, and the key `agentId`, which
  // stands for the key `agent` of all other records.
  tree_.engine->log(LogLevel::info,
                    aborts ? "a model call was aborted (LLM 调用已中断)" : "a turn was interrupted",
                    {{aborts ? "agentId" : "agent", op.agent_name}, {"reason", op.origin.reason()}});
  turns_.ends().report(*node);
}

void Scheduler::finish_release(const ControlOp& op) {
  Node* node = tree_.table.find(op.agent);
  if (!node) return;
  if (op.cascade) agent_pass_.restart();
  hub_.emit(*node, [](Agent agent) { return QueueHeld{std::move(agent), false}; });
  if (!tree_.is_closed()) schedule(*node);
}

void Scheduler::finish_steer(const ControlOp& op) {
  Node* node = tree_.table.find(op.agent);
  if (!node) return;
  turns_.finish_steer(*node);
  if (!is_gone()) schedule(*node);
}

Progress Scheduler::run_passes(loop::PollBudget& budget) {
  const auto operations = [this] { return tree_.operations.slots(); };
  const auto agents = [this] { return tree_.table.slots(); };
  const auto is_tree_gone = [this] { return is_gone(); };
  if (!turns_.parked().run(budget)) return Progress::more;
  if (is_gone()) return Progress::tree_gone;
  const Progress ended =
      interrupt_pass_.run(budget, operations, is_tree_gone, [this](auto slot) { end_if_interrupted(slot); });
  if (ended != Progress::done) return ended;
  tree_.end_reasons.remove_read();
  return agent_pass_.run(budget, agents, is_tree_gone, [this](auto slot) {
    Node& node = tree_.table.slot(slot);
    if (!node.load().is_free() && !node.is_root_sentinel()) visit(node);
  });
}

void Scheduler::visit(Node& node) noexcept {
  if (parks_) {
    if (turns_.end_refused(node)) return;
    if (is_gone()) return;
    if (!tree_.engine->guarded("the end of a pause", [&] { turns_.parked().go_on(node); }))
      agent_pass_.restart();
    if (is_gone()) return;
  }
  schedule(node);
}

void Scheduler::end_if_interrupted(std::uint32_t slot) noexcept {
  const turn::Operation& operation = tree_.operations.at_slot(slot);
  if (!operation.node || operation.kind == turn::Operation::Kind::background) return;
  Node& node = *operation.node;
  if (!turn::is_admitted(operation) && turns_.end_refused(node)) return;
  if (!is_gone()) schedule(node);
}

}  // namespace agentcore::detail::tree
