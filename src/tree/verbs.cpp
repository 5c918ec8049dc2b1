// The verbs' first halves: everything here may run on any thread, at any time, against everything else. A
// verb is one compare-and-set of one word; what is read before it is read again when it fails. Stop, resume
// and terminate look at the ancestors, replace the word and leave their follow-up under `closing_`: no other
// of them comes in between, and the loop hears of them in the order in which they happened.
#include "core/blank.hpp"
#include "core/utf8.hpp"
#include "tree/tree_core.hpp"

#include <mutex>
#include <utility>

namespace agentcore::tree {
namespace {

using core::Gate;
using core::GateView;
using core::Node;
using core::Word;

// What a send to an agent in that state is told (G12).
Errc send_refusal(AgentState state) noexcept {
  switch (state) {
    case AgentState::stopping:
      return Errc::agent_stopping;
    case AgentState::stopped:
      return Errc::agent_stopped;
    default:
      return Errc::agent_terminating;
  }
}

// What a verb is told that found the agent in that state (C20).
Errc found_state(AgentState state) noexcept {
  switch (state) {
    case AgentState::stopping:
      return Errc::stopping;
    case AgentState::stopped:
      return Errc::stopped;
    default:
      return Errc::terminating;
  }
}

std::size_t size_of(const Message& message) noexcept {
  std::size_t bytes = message.text.size() + message.sender.size();
  for (const ContentPart& part : message.parts)
    bytes += part.url.size() + part.data.size() + part.media_type.size() + part.detail.size();
  return bytes;
}

bool is_empty(const Message& message) noexcept {
  return core::is_blank(message.text) && (message.simulated || message.parts.empty());
}

GateView look(const Node& node, core::NodeId id) noexcept {
  return core::look(node, core::generation_of(id));
}

}  // namespace

core::NodeId TreeCore::find(std::string_view name) const noexcept {
  if (closed()) return 0;
  const Node* node = table_.find(name);
  return node ? table_.names().find(name) : 0;
}

std::string TreeCore::name_of(core::NodeId id) const {
  const Node* node = resolve(id);
  return node && !node->is_trunk() ? table_.names().name_of(*node, id) : std::string();
}

bool TreeCore::exists(core::NodeId id) const noexcept {
  const Node* node = reach(id);
  return node && core::look_again(*node, core::generation_of(id)).valid;
}

Result<AgentState> TreeCore::state(core::NodeId id) const {
  if (const Node* node = reach(id))
    if (const GateView view = core::look_again(*node, core::generation_of(id)); view.valid) return view.seen;
  return missing("no such agent (any more)");
}

std::size_t TreeCore::queue_length(core::NodeId id) const noexcept {
  const Node* node = resolve(id);
  return node ? mailbox::length(*node, core::generation_of(id)) : 0;
}

SendResult TreeCore::send(core::NodeId id, Message&& message) {
  Node* node = reach(id);
  if (!node || node->is_trunk()) return {false, missing()};
  if (is_empty(message)) return {false, Errc::empty_message};
  if (size_of(message) > options_.max_message_bytes) return {false, Errc::message_too_large};
  if (!core::is_utf8(message.text)) return {false, Errc::invalid_utf8};
  std::uint32_t cell = 0;
  SendResult result;
  for (;;) {
    const GateView view = core::look_again(*node, core::generation_of(id));
    if (!view.valid) {
      result.reason = Errc::agent_not_found;
      break;
    }
    if (!view.open()) {
      if (view.seen == AgentState::stopped && node->auto_resume.load(std::memory_order_relaxed)) {
        const Errc refused = resume(id, {}).reason;
        if (refused == Errc::none || refused == Errc::not_stopped) continue;  // another sender resumed it
        if (refused == Errc::out_of_memory) {
          result.reason = refused;
          break;
        }
      }
      result.reason = send_refusal(view.seen);
      break;
    }
    if (!cell) {
      try {
        cell = pool_.take();
      } catch (const std::bad_alloc&) {
        return {false, Errc::out_of_memory};
      }
      pool_[cell].message = std::exchange(message, Message{});
    }
    const mailbox::Push push = mailbox::push(*node, pool_, cell, core::generation_of(id), view.own.epoch());
    if (push == mailbox::Push::closed) continue;  // it was closed after we looked: look again for the reason
    if (push == mailbox::Push::full) result.reason = Errc::mailbox_full;
    if (push == mailbox::Push::gone) result.reason = Errc::agent_not_found;
    result.accepted = result.reason == Errc::none;
    if (push == mailbox::Push::queued_first && ready_.add(*node)) waker_->notify();
    break;
  }
  if (cell && !result.accepted) {
    pool_[cell].message = Message{};
    pool_.give(cell, cell);
  }
  return result;
}

AbortResult TreeCore::abort(core::NodeId id, AbortOptions&& options) {
  const Agent keep = handle(id);  // a cut may run callbacks, and they may drop everybody else's
  Node* node = reach(id);
  if (!node) return {false, false, missing()};
  GateView view = look(*node, id);
  const std::uint32_t position = mailbox::position(*node);
  std::unique_ptr<ControlOp> op;
  do {
    if (!view.valid) return {false, false, Errc::agent_not_found};
    if (!view.open() || view.own.state() != AgentState::waiting_llm)
      return {true, false, Errc::not_waiting_llm};
    if (!op) op = prepared([&](ControlOp& made) { made.agent_name = table_.names().name_of(*node, id); });
    if (!op) return {false, false, Errc::out_of_memory};
    Word expected = view.own;
    if (node->replace(expected, expected.with(AgentState::idle).next_epoch())) break;
    view = look(*node, id);
  } while (true);

  turns_.flights().cut_epoch(*node, id, view.own.epoch());
  op->verb = Verb::abort;
  op->agent = id;
  op->epoch = view.own.next_epoch().epoch();
  op->reason = std::move(options.reason);
  if (options.clear_queue) op->clear_up_to = position;
  follow_up(std::move(op));
  return {true, true, Errc::none};
}

StopResult TreeCore::stop(core::NodeId id, StopOptions&& options) {
  const Agent keep = handle(id);  // as in abort()
  Node* node = reach(id);
  if (!node) return {false, false, missing()};
  auto op = prepared([&](ControlOp& made) {
    if (options.on_settled) made.agent_name = name_of(id);
  });
  if (!op) return {false, false, Errc::out_of_memory};
  op->agent = id;
  op->cascade = options.cascade;
  op->cause = options.cause;
  op->reason = std::move(options.reason);
  op->deadline = options.deadline;
  op->on_stopped = std::move(options.on_settled);
  const bool wants_report = op->wants_report();

  StopResult result = close_for_stop(*node, std::move(op), options.caller);
  if (result.stopped) {
    result.quiet = is_quiet(*node);
    result.calls_cut = turns_.flights().cut_closed_below(*node, options.cascade, options.cut);
  }
  if (result.stopped || wants_report) waker_->notify();
  return result;
}

StopResult TreeCore::close_for_stop(Node& node, std::unique_ptr<ControlOp> op, std::string_view caller) {
  const std::lock_guard lock(closing_);
  for (;;) {
    const GateView view = look(node, op->agent);
    if (!view.valid) return {false, false, Errc::agent_not_found};
    if (node.role.load(std::memory_order_relaxed) == AgentRole::user)
      return {false, false, Errc::cannot_stop_user};
    if (!caller.empty() && !is_parent(caller, node)) return {false, false, Errc::not_child_agent};
    const bool widens = view.own.gate() == Gate::stop_self && view.own.state() == AgentState::stopped &&
                        view.above == Gate::open && op->cascade;
    if (!view.open() && !widens) {
      join(std::move(op));
      return {true, false, found_state(view.seen)};
    }
    Word expected = view.own;
    const Word closed = widens ? expected : expected.with(AgentState::stopping);
    if (!node.replace(expected, closed.with(op->cascade ? Gate::stop_tree : Gate::stop_self).next_epoch()))
      continue;
    control_.push(std::move(op));
    return {true, true, Errc::none};
  }
}

ResumeResult TreeCore::resume(core::NodeId id, const ResumeOptions& options) {
  Node* node = reach(id);
  if (!node && missing() == Errc::runtime_gone) return {false, false, Errc::runtime_gone};
  if (!options.caller.empty()) return {false, false, Errc::not_allowed};
  if (!node) return {false, false, missing()};
  auto op = prepared([](ControlOp&) {});
  if (!op) return {false, false, Errc::out_of_memory};
  op->verb = Verb::resume;
  op->agent = id;
  op->cascade = options.cascade;
  const ResumeResult result = open_for_resume(*node, std::move(op));
  if (result.resumed) waker_->notify();
  return result;
}

ResumeResult TreeCore::open_for_resume(Node& node, std::unique_ptr<ControlOp> op) {
  const std::lock_guard lock(closing_);
  for (;;) {
    const GateView view = look(node, op->agent);
    if (!view.valid) return {false, false, Errc::agent_not_found};
    if (view.seen == AgentState::terminating || view.own.gate() == Gate::terminate ||
        view.above == Gate::terminate)
      return {false, false, Errc::terminating};
    if (view.seen == AgentState::stopping) return {false, false, Errc::stopping};
    if (view.above != Gate::open) return {false, false, Errc::parent_stopped};
    if (view.seen != AgentState::stopped) return {true, false, Errc::not_stopped};
    const Word stopped = view.own;
    if (!mailbox::is_closed(node, stopped.generation(), stopped.epoch()))
      return {false, false, Errc::stopping};  // widened, and not settled again yet
    Word expected = stopped;
    if (!node.replace(expected, stopped.with(AgentState::idle).with(Gate::open).next_epoch())) continue;
    mailbox::open(node, stopped.generation(), stopped.epoch());
    op->cascade = op->cascade && stopped.gate() == Gate::stop_tree;
    control_.push(std::move(op));
    return {true, true, Errc::none};
  }
}

TerminateResult TreeCore::terminate(core::NodeId id, TerminateOptions&& options) {
  const Agent keep = handle(id);  // as in abort()
  Node* node = reach(id);
  if (!node) return {false, false, missing()};
  auto op = prepared([&](ControlOp& made) {
    if (options.on_settled) made.agent_name = name_of(id);
  });
  if (!op) return {false, false, Errc::out_of_memory};
  op->verb = Verb::terminate;
  op->agent = id;
  op->cause = StopCause::terminate;
  op->reason = std::move(options.reason);
  op->deadline = options.deadline;
  op->on_terminated = std::move(options.on_settled);
  const bool wants_report = op->wants_report();

  TerminateResult result = close_for_delete(*node, std::move(op), options.caller);
  if (result.terminated) {
    result.quiet = is_quiet(*node);
    result.calls_cut = turns_.flights().cut_closed_below(*node, true, options.cut);
  }
  if (result.terminated || wants_report) waker_->notify();
  return result;
}

TerminateResult TreeCore::close_for_delete(Node& node, std::unique_ptr<ControlOp> op,
                                           std::string_view caller) {
  const std::lock_guard lock(closing_);
  for (;;) {
    const GateView view = look(node, op->agent);
    if (!view.valid) return {false, false, Errc::agent_not_found};
    if (node.role.load(std::memory_order_relaxed) != AgentRole::normal)
      return {false, false, Errc::cannot_delete_system_agent};
    if (!caller.empty() && !is_parent(caller, node)) return {false, false, Errc::not_child_agent};
    if (view.own.gate() == Gate::terminate || view.above == Gate::terminate) {
      join(std::move(op));
      return {true, false, Errc::terminating};
    }
    Word expected = view.own;
    Word after = expected.with(Gate::terminate);
    if (can_process(expected.state())) {  // below a stop that is under way, the stop goes first (X13)
      const bool waits = view.above != Gate::open;
      after = after.with(waits ? AgentState::stopping : AgentState::terminating).next_epoch();
    } else if (expected.state() == AgentState::stopped) {
      // A stop that is under way for what lies below goes first too: a widened one of its own, or an
      // ancestor's.
      const bool widened = !mailbox::is_closed(node, expected.generation(), expected.epoch());
      const bool stops_below = expected.gate() == Gate::stop_self && view.above != Gate::open;
      if (!widened && !stops_below) after = after.with(AgentState::terminating);
    }
    if (!node.replace(expected, after)) continue;
    control_.push(std::move(op));
    return {true, true, Errc::none};
  }
}

// Another verb has done it already: whoever wants to hear of the end waits for that one's.
void TreeCore::join(std::unique_ptr<ControlOp> op) {
  op->took_effect = false;
  if (op->wants_report()) control_.push(std::move(op));
}

void TreeCore::follow_up(std::unique_ptr<ControlOp> op) {
  control_.push(std::move(op));
  waker_->notify();
}

// Read after the gate was closed; the loop publishes before it asks for admission. So an action that this
// does not see will ask later, and be refused (G1).
bool TreeCore::is_quiet(const Node& root) const noexcept {
  if (engine_->on_loop_thread()) return true;
  const Node* const now = table_.stepping.load(std::memory_order_seq_cst);
  return !now || (now != table_.many() && !core::is_within(now, &root));
}

// Agents act on their own children only (X10).
bool TreeCore::is_parent(std::string_view caller, const Node& node) const noexcept {
  const Node* const found = table_.find(caller);
  return found && node.parent.load(std::memory_order_acquire) == found;
}

}  // namespace agentcore::tree
