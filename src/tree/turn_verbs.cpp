#include "tree/turn_verbs.hpp"

#include "core/gates.hpp"
#include "core/transitions.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/refusals.hpp"

#include <new>
#include <optional>
#include <utility>

namespace agentcore::detail::tree {
namespace {

using core::Gate;
using core::GateView;
using core::Node;
using core::PackedState;

bool is_in_turn(AgentState state) noexcept {
  return can_process(state) && state != AgentState::idle;
}

// Makes room for what the verb drops, if it does. False: there is no memory.
bool prepare_clearing(ControlOp& op, bool clears) noexcept {
  if (!clears) return true;
  try {
    op.cleared.prepare(op.agent);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Why an interrupt has no effect on an agent that was seen so.
Errc reason_of(const GateView& view) noexcept {
  return can_process(view.effective) ? Errc::turn_over : closed_reason_of(view.effective);
}

// What an interrupt by the id of a message found.
enum class Found : std::uint8_t { running, queued, over, elsewhere };

// Where the message is, of which the agent was seen with that packed state.
Found find(const TreeShared& tree, const Node& node, core::NodeId agent, PackedState packed,
           MessageId message) {
  const std::uint32_t number = tree.pool.find(message);
  if (!number || tree.pool.id_of(number) != message) return Found::over;
  if (!tree.pool[number].belongs_to(agent)) return Found::elsewhere;
  const std::uint32_t current = node.message.load(std::memory_order_seq_cst);
  if ((current & ~Node::claiming) != number) {
    // A verb may have dropped it with all others, and the loop has still to take it out of the mailbox.
    const bool dropped =
        tree.cleared.covers(agent, tree.pool[number].position.load(std::memory_order_relaxed));
    return dropped ? Found::over : Found::queued;
  }
  if (is_in_turn(packed.state())) return Found::running;
  return current == number ? Found::over : Found::queued;  // over: another verb has ended it
}

// What the loop does with the mailbox of an agent that was seen with that packed state.
void prepare_queue(const Node& node, QueueAction queue, PackedState packed, ControlOp& op) noexcept {
  op.hold = queue == QueueAction::hold && !packed.is_held();
  if (queue == QueueAction::drop) op.clear_up_to = mailbox::position(node);
}

void finish(TreeShared& tree, std::unique_ptr<ControlOp> op) noexcept {
  if (op->clear_up_to || op->withdrawn) tree.cleared.add(op->cleared, op->clear_up_to, op->withdrawn);
  if (op->clear_up_to) tree.steers.drop(op->agent);
  if (op->withdrawn) tree.steers.drop(op->agent, op->withdrawn);
  tree.control.push(std::move(op));
  tree.waker->notify();
}

// The packed state says that the turn has ended: cuts its calls, and leaves the rest to the loop.
VerbResult end_turn(TreeShared& tree, Node& node, const InterruptOptions& options,
                    std::unique_ptr<ControlOp> op) {
  VerbResult result = VerbResult::done();
  result.quiet = tree.is_quiet(node, false);
  result.calls_cut = tree.operations.cut_turn(node, options.cut);
  finish(tree, std::move(op));
  return result;
}

VerbResult interrupt_turn(TreeShared& tree, Node& node, const InterruptOptions& options,
                          std::unique_ptr<ControlOp> op) {
  const bool hold = options.queue == QueueAction::hold;
  for (;;) {
    const GateView view = look(node, op->agent);
    if (!view.valid) return VerbResult::refused(Errc::agent_not_found);
    if (!view.open()) return VerbResult::no_effect(reason_of(view));
    prepare_queue(node, options.queue, view.own, *op);
    std::optional<PackedState> after = core::after_interrupt(view.own, hold);
    const bool in_turn = after.has_value() && view.effective != AgentState::idle;
    if (!in_turn) after.reset();
    if (!in_turn && hold) after = core::after_hold(view.own, true);
    if (in_turn) {
      if (!tree.end_reasons.end_turn(node, view.own, *after, op->origin)) continue;
      op->epoch = after->epoch();
      return end_turn(tree, node, options, std::move(op));
    }
    if (PackedState expected = view.own; after && !node.replace(expected, *after)) continue;
    // Nothing to end; what was asked for the queue is done nevertheless.
    if (options.queue != QueueAction::deliver) finish(tree, std::move(op));
    return VerbResult::no_effect(Errc::turn_over);
  }
}

VerbResult interrupt_message(TreeShared& tree, Node& node, const InterruptOptions& options,
                             std::unique_ptr<ControlOp> op) {
  const bool hold = options.queue == QueueAction::hold;
  bool begun = false;
  for (;;) {
    const GateView view = look(node, op->agent);
    if (!view.valid) return VerbResult::refused(Errc::agent_not_found);
    if (!view.open()) return VerbResult::no_effect(reason_of(view));
    const Found found = find(tree, node, op->agent, view.own, options.message);
    // A turn that was interrupted together with its subtree is over, although the loop has not ended it yet.
    if (found == Found::running && view.effective == AgentState::idle)
      return VerbResult::no_effect(Errc::turn_over);
    if (found == Found::elsewhere) return VerbResult::refused(Errc::message_not_found);
    if (found == Found::running) {
      prepare_queue(node, options.queue, view.own, *op);
      const std::optional<PackedState> after = core::after_interrupt(view.own, hold);
      // The epoch is that of the message's turn: if it has not changed, no other turn is ended.
      if (!tree.end_reasons.end_turn(node, view.own, *after, op->origin)) continue;
      op->epoch = after->epoch();
      return end_turn(tree, node, options, std::move(op));
    }
    if (found == Found::over) {
      if (node.load(std::memory_order_seq_cst) == view.own) return VerbResult::no_effect(Errc::turn_over);
      continue;  // its turn may have begun since the look
    }
    if (tree.pool.withdraw(tree.pool.find(options.message), options.message)) break;
    // Its turn has begun, and the agent was in it before: if it is not now, the turn has ended.
    if (std::exchange(begun, true)) return VerbResult::no_effect(Errc::turn_over);
  }
  op->withdrawn = options.message;
  finish(tree, std::move(op));
  return VerbResult::done();
}

VerbResult interrupt_subtree(TreeShared& tree, Node& node, const InterruptOptions& options,
                             std::unique_ptr<ControlOp> op) {
  op->cascade = true;
  {
    const core::Lock lock(tree.table.erasing());
    const GateView view = look(node, op->agent);
    if (!view.valid) return VerbResult::refused(Errc::agent_not_found);
    if (!view.open()) return VerbResult::no_effect(reason_of(view));
    prepare_queue(node, options.queue, view.own, *op);
    if (options.queue == QueueAction::hold) {
      node.extend_below(Node::hold_below, true);
      PackedState packed = node.load();
      std::optional<PackedState> after;
      do {
        after = core::after_hold(packed, true);
      } while (after && !node.replace(packed, *after));
    }
    core::Atomic<std::uint32_t>& count = tree.table.root_sentinel().interrupts;
    op->interrupt = count.load(std::memory_order_relaxed) + 1;
    tree.end_reasons.add_subtree(op->agent, op->interrupt, op->origin);
    count.store(op->interrupt, std::memory_order_seq_cst);
    node.interrupts.store(op->interrupt, std::memory_order_seq_cst);
  }
  VerbResult result = VerbResult::done();
  result.quiet = tree.is_quiet(node, true);
  result.calls_cut = tree.operations.cut_closed_below(node, true, options.cut);
  finish(tree, std::move(op));
  return result;
}

// Why there is nothing to release; none: it is released, and `op` says whether that of the subtree is, too.
Errc release(TreeShared& tree, Node& node, ControlOp& op) {
  const core::Lock lock(tree.table.erasing());
  for (PackedState packed = node.load();;) {
    if (packed.generation() != core::generation_of(op.agent) || packed.is_free())
      return Errc::agent_not_found;
    const std::optional<PackedState> after = core::after_hold(packed, false);
    if (!after) return Errc::not_held;
    if (node.replace(packed, *after)) break;
  }
  op.cascade = node.extend_below(Node::hold_below, false);
  return Errc::none;
}

}  // namespace

VerbResult abort(TreeShared& tree, core::NodeId id, AbortOptions&& options) {
  if (options.queue == QueueAction::hold) return VerbResult::refused(Errc::invalid_config);
  const bool drops = options.queue == QueueAction::drop;
  const Agent keep = tree.handle(id);  // a cut may run callbacks, and they may drop all other handles
  Node* node = tree.reach(id);
  if (!node) return VerbResult::refused(tree.missing());
  std::unique_ptr<ControlOp> op;
  PackedState before;
  do {
    const GateView view = look(*node, id);
    if (!view.valid) return VerbResult::refused(Errc::agent_not_found);
    before = view.own;
    const std::optional<PackedState> after = core::after_abort(before);
    const bool waits = view.above == Gate::open && view.effective == AgentState::waiting_llm;
    if (!after || !waits) return VerbResult::no_effect(Errc::not_waiting_llm);
    if (!op) op = op_for(tree, id, true, {}, options.reason);
    if (!op || !prepare_clearing(*op, drops)) return VerbResult::refused(Errc::out_of_memory);
    if (drops) op->clear_up_to = mailbox::position(*node);
    op->epoch = after->epoch();
    if (tree.end_reasons.end_turn(*node, before, *after, op->origin)) break;
  } while (true);

  tree.operations.cut_turn(*node, StopCut::all);
  op->verb = Verb::abort;
  finish(tree, std::move(op));
  return VerbResult::done();
}

VerbResult interrupt(TreeShared& tree, core::NodeId id, InterruptOptions&& options) {
  if (options.scope != Scope::agent && options.scope != Scope::subtree)
    return VerbResult::refused(Errc::invalid_config);
  const Agent keep = tree.handle(id);  // as in abort()
  Node* node = tree.reach(id);
  if (!node || node->is_root_sentinel()) return VerbResult::refused(tree.missing());
  auto op = op_for(tree, id, true, {}, options.reason);
  const bool clears = options.message || options.queue == QueueAction::drop;
  if (!op || !prepare_clearing(*op, clears)) return VerbResult::refused(Errc::out_of_memory);
  op->verb = Verb::interrupt;
  op->cascade = false;
  const bool subtree = !options.message && options.scope == Scope::subtree;
  VerbResult result = options.message ? interrupt_message(tree, *node, options, std::move(op))
                      : subtree       ? interrupt_subtree(tree, *node, options, std::move(op))
                                      : interrupt_turn(tree, *node, options, std::move(op));
  if (result.status == VerbStatus::no_effect) result.quiet = tree.is_quiet(*node, subtree);
  return result;
}

VerbResult release_queue(TreeShared& tree, core::NodeId id) {
  Node* node = tree.reach(id);
  if (!node || node->is_root_sentinel()) return VerbResult::refused(tree.missing());
  auto op = op_for(tree, id, false);
  if (!op) return VerbResult::refused(Errc::out_of_memory);
  op->verb = Verb::release_queue;
  if (const Errc refused = release(tree, *node, *op); refused != Errc::none)
    return refused == Errc::not_held ? VerbResult::no_effect(refused) : VerbResult::refused(refused);
  finish(tree, std::move(op));
  return VerbResult::done();
}

Errc acknowledge(TreeShared& tree, core::NodeId id, const Acknowledgement& seen) noexcept {
  const Node* node = tree.reach(id);
  if (!node || node->is_root_sentinel()) return tree.missing();
  if (seen.call == 0) return Errc::invalid_config;
  GateView view;
  const auto is_current = [&] {
    view = look(*node, id);
    return view.open() && is_in_turn(view.effective) &&
           find(tree, *node, id, view.own, seen.message) == Found::running;
  };
  if (tree.acknowledgements.add(id, seen, is_current)) return Errc::none;
  return view.valid ? Errc::turn_over : Errc::agent_not_found;
}

}  // namespace agentcore::detail::tree
