#include "tree/mailboxes.hpp"

#include "core/blank.hpp"
#include "core/gates.hpp"
#include "core/stop_request.hpp"
#include "core/utf8.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/dropped_messages.hpp"
#include "tree/refusals.hpp"
#include "tree/resume.hpp"

#include <agentcore/no_limit.hpp>
#include <agentcore/runtime.hpp>

#include <cassert>
#include <new>
#include <utility>

namespace agentcore::detail::tree {
namespace {

using core::GateView;
using core::Node;

std::size_t size_of(const Message& message) noexcept {
  std::size_t bytes = message.text.size() + message.sender.size() + message.kind.size();
  for (const ContentPart& part : message.parts)
    bytes +=
        part.url.size() + part.data.size() + part.media_type.size() + part.detail.size() + part.name.size();
  return bytes;
}

bool is_empty(const Message& message) noexcept {
  return core::is_blank(message.text) && message.parts.empty();
}

// The message during its send: it gets a cell of the pool when it is pushed for the first time, and returns
// the cell unless a mailbox has taken it over.
class Cell {
 public:
  Cell(mailbox::MessagePool& pool, Message& message, std::unique_ptr<SendOptions>& options,
       bool simulated = false) noexcept
      : pool_(pool), message_(message), options_(options), simulated_(simulated) {}
  ~Cell() {
    if (!number_) return;
    pool_.release(number_);
    pool_.give(number_, number_);
  }
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  // Throws std::bad_alloc.
  std::uint32_t number() {
    if (number_) return number_;
    number_ = pool_.take();
    cell_ = &pool_[number_];
    cell_->put(std::move(message_), std::move(options_), simulated_);
    return number_;
  }
  // Read before the push: afterwards the loop may have ended the message already.
  MessageId id() {
    static_cast<void>(number());
    return pool_.id_in(*cell_);
  }
  void release() noexcept { number_ = 0; }

 private:
  mailbox::MessagePool& pool_;
  Message& message_;
  std::unique_ptr<SendOptions>& options_;
  const bool simulated_;
  std::uint32_t number_ = 0;
  mailbox::Cell* cell_ = nullptr;  // null: it has no cell yet
};

enum class Origin : std::uint8_t { any, tool_call, simulated };

std::optional<Errc> problem_of(const TreeShared& tree, const Message& message) noexcept {
  if (is_empty(message)) return Errc::empty_message;
  if (size_of(message) > tree.options.max_message_bytes) return Errc::message_too_large;
  if (!core::is_utf8(message.text)) return Errc::invalid_utf8;
  return std::nullopt;
}

// For the store. @threadsafe
void note_mail(TreeShared& tree, core::NodeId id) noexcept {
  if (tree.mail_notes.add(id)) tree.waker->notify();
}

// Resumes a stopped agent if its spec allows it (`auto_resume`) and its lease has not run out: then returns
// Errc::none, and the sender tries again. Otherwise returns the reason for the refusal.
Errc resume_or_refuse(TreeShared& tree, const Node& node, core::NodeId id, AgentState effective,
                      ResumedBy by) {
  if (effective == AgentState::stopped && node.auto_resume.load(std::memory_order_relaxed)) {
    const Errc refused = resume(tree, id, {}, by).reason;
    if (refused == Errc::none || refused == Errc::not_stopped)
      return Errc::none;  // another sender resumed it
    if (refused == Errc::out_of_memory) return refused;
  }
  return closed_reason_of(effective);
}

// Checks the gates and pushes until the mailbox has accepted the message, or there is a reason to refuse it.
SendResult push(TreeShared& tree, Origin origin, Node& node, core::NodeId id, Cell& cell) {
  const std::uint32_t generation = core::generation_of(id);
  for (;;) {
    tree.table.leases().check(node);
    core::PackedState accepting = core::accepting(node, generation);
    if (accepting.is_free()) {
      const GateView view = core::look_again(node, generation);
      if (!view.valid) return SendResult{Errc::agent_not_found};
      if (!view.open()) {
        const auto by = origin == Origin::tool_call ? ResumedBy::message_of_call : ResumedBy::message;
        const Errc refused = resume_or_refuse(tree, node, id, view.effective, by);
        if (refused == Errc::none) continue;
        return SendResult{refused};
      }
      const core::Grade grade = origin == Origin::tool_call ? view.own.stop_grade() : view.grade;
      if (grade != core::Grade::none) return SendResult{Errc::agent_stopping};
      accepting = view.own;
    }
    const MessageId message = cell.id();
    switch (mailbox::push(node, tree.pool, tree.cleared, cell.number(), generation, accepting.epoch())) {
      case mailbox::Push::closed:  // closed after the check: the next check finds the reason
        continue;
      case mailbox::Push::full:
        return SendResult{Errc::mailbox_full};
      case mailbox::Push::gone:
        return SendResult{Errc::agent_not_found};
      case mailbox::Push::queued_first:
        if (tree.ready.add(node)) tree.waker->notify();
        cell.release();
        if (tree.mail_notes.is_enabled()) note_mail(tree, id);
        return {Errc::none, message};
      case mailbox::Push::queued:
        // It may pass messages that wait for a release of the mailbox, or that a deferred stop withholds.
        if (origin == Origin::tool_call && tree.ready.add(node)) tree.waker->notify();
        cell.release();
        if (tree.mail_notes.is_enabled()) note_mail(tree, id);
        return {Errc::none, message};
    }
  }
}

SendResult send_from(TreeShared& tree, Origin origin, core::NodeId id, Message&& message,
                     std::unique_ptr<SendOptions> options, std::shared_ptr<core::CallBegin> begin) {
  Node* node = tree.reach(id);
  if (!node || node->is_root_sentinel()) return SendResult{tree.missing()};
  if (const std::optional<Errc> problem = problem_of(tree, message)) return SendResult{*problem};
  const std::optional<TimePoint> deadline = options ? options->deadline : std::nullopt;
  try {
    Cell cell(tree.pool, message, options, origin == Origin::simulated);
    if (origin == Origin::tool_call) tree.pool[cell.number()].delegate(std::move(begin));
    const SendResult sent = push(tree, origin, *node, id, cell);
    if (sent && deadline && *deadline != no_limit) watch_deadline(tree, id, sent.id, *deadline);
    return sent;
  } catch (const std::bad_alloc&) {
    return SendResult{Errc::out_of_memory};
  }
}

// Adds the message to those that wait for a step. With SteerWhen::now, and if a model call is open, `cut` is
// its stop source.
SendResult put_into_turn(TreeShared& tree, Node& node, core::NodeId id, Cell& cell,
                         const SteerOptions& options, StopSource& cut) {
  const std::size_t limit = node.mailbox_limit.load(std::memory_order_relaxed);
  for (;;) {
    tree.table.leases().check(node);
    const GateView before = core::look_again(node, core::generation_of(id));
    if (!before.valid) return {Errc::agent_not_found};
    if (!before.open()) {
      const Errc refused = resume_or_refuse(tree, node, id, before.effective, ResumedBy::message);
      if (refused == Errc::none) continue;
      return {refused};
    }
    if (before.grade != core::Grade::none) return {Errc::agent_stopping};
    SendResult result{Errc::none, cell.id()};
    tree.pool[cell.number()].agent.store(id, std::memory_order_relaxed);
    const mailbox::SteerEntry entry{.cell = cell.number(),
                                    .id = result.id,
                                    .give_back = options.fallback == SteerFallback::give_back,
                                    .sent_at = tree.cleared.count()};
    const auto check = [&](mailbox::SteerEntry& added, std::uint32_t reasks) {
      const GateView view = core::look(node, core::generation_of(id));
      if (!view.open() || view.grade != core::Grade::none)
        return false;  // closed since the check above, perhaps already emptied
      added.now = options.when == SteerWhen::now && view.effective == AgentState::waiting_llm &&
                  reasks < tree.options.max_reasks && !tree.operations.has_summary(node, view.own.epoch());
      if (!added.now) return true;
      result.ended_call = true;
      cut = tree.operations.model_call_of(node, view.own.epoch());
      return true;
    };
    switch (tree.steers.add(id, entry, limit, check)) {
      case mailbox::SteerBox::Added::waits:
        return result;
      case mailbox::SteerBox::Added::full:
        return {Errc::mailbox_full};
      case mailbox::SteerBox::Added::refused:
        continue;
    }
  }
}

// Reports messages that were removed from a mailbox whose agent is perhaps in no ready list. A sender that
// has pushed meanwhile may rely on the loop to look at what is left: see mailbox::remove().
void drop(TreeShared& tree, Node& node, const mailbox::DroppedMessages& dropped, DropReason reason) {
  const bool has_more = mailbox::length(node, node.load().generation()) != 0;
  const bool is_ready = has_more && !tree.is_closed() && tree.ready.add(node);
  report_dropped(tree.hub, node, dropped, reason);
  if (is_ready && !tree.is_closed()) tree.waker->notify();  // last: it may call a function of the host
}

// The message of that cell waits, and is not dropped yet.
void remove(TreeShared& tree, Node& node, std::uint32_t number, DropReason reason) {
  const mailbox::DroppedMessages dropped = mailbox::remove(node, tree.pool, number);
  tree.cleared.note_taken(node.id(), tree.pool[number].position.load(std::memory_order_relaxed));
  drop(tree, node, dropped, reason);
}

// The cell of a message that waits in the mailbox of that agent, or 0.
std::uint32_t find_queued(TreeShared& tree, Node& node, core::NodeId agent, MessageId id) noexcept {
  const std::uint32_t number = tree.pool.find(id);
  if (!number || !tree.pool.holds(number, id)) return 0;
  std::uint32_t found = 0;
  mailbox::for_each(node, tree.pool, [&](std::uint32_t waiting) {
    if (waiting == number && tree.pool[number].belongs_to(agent) && tree.waits(node, number)) found = number;
  });
  return found;
}

void on_deadline(TreeShared& tree, core::NodeId agent, MessageId id) noexcept {
  Node* const node = tree.reach(agent);
  if (!node) return;
  const LoopEntry entry(tree.lifetime);
  if (const std::uint32_t number = find_queued(tree, *node, agent, id))
    remove(tree, *node, number, DropReason::deadline_exceeded);
}

void start_timer(TreeShared& tree, core::NodeId agent, MessageId id, TimePoint deadline) {
  const Node* const node = tree.reach(agent);
  const std::uint32_t number = node ? tree.pool.find(id) : 0;
  if (!number || !tree.pool.holds(number, id)) return;                  // dropped, or its turn has ended
  if (node->message.load(std::memory_order_relaxed) == number) return;  // its turn has begun
  const std::uint64_t timer =
      tree.engine->start_timer(deadline, [&tree, agent, id] { on_deadline(tree, agent, id); });
  tree.pool[number].set_timer(Timer(tree.engine->weak_from_this(), timer));
}

// Calls change(node, cell number) for a message that waits.
template <typename Change>
Result<void> change_queued(TreeShared& tree, core::NodeId agent, MessageId id, Change&& change) {
  assert(tree.is_closed() || tree.engine->on_loop_thread());
  Node* const node = tree.reach(agent);
  if (!node) return tree.missing(no_agent_text);
  const LoopEntry entry(tree.lifetime);
  const std::uint32_t number = find_queued(tree, *node, agent, id);
  if (!number)
    return Error{Errc::message_not_found,
                 "no message " + to_string(id) +
                     " waits in the mailbox of the agent: its turn has begun, it was "
                     "dropped, or it was sent to another agent"};
  change(*node, number);
  return {};
}

}  // namespace

SendResult send(TreeShared& tree, core::NodeId id, Message&& message, std::unique_ptr<SendOptions> options) {
  return send_from(tree, Origin::any, id, std::move(message), std::move(options), nullptr);
}

SendResult simulate(TreeShared& tree, core::NodeId id, std::string&& answer) {
  return send_from(tree, Origin::simulated, id, detail::text_message(std::move(answer)), {}, nullptr);
}

SendResult delegate(TreeShared& tree, core::NodeId id, Message&& message, SendOptions&& options,
                    std::shared_ptr<core::CallBegin> begin) {
  try {
    return send_from(tree, Origin::tool_call, id, std::move(message),
                     std::make_unique<SendOptions>(std::move(options)), std::move(begin));
  } catch (const std::bad_alloc&) {
    return SendResult{Errc::out_of_memory};
  }
}

SendResult steer(TreeShared& tree, core::NodeId id, Message&& message, const SteerOptions& options) {
  const Agent keep = tree.handle(id);  // a cut may run callbacks, and they may drop all other handles
  Node* node = tree.reach(id);
  if (!node || node->is_root_sentinel()) return {tree.missing()};
  if (const std::optional<Errc> problem = problem_of(tree, message)) return {*problem};
  auto op = op_for(tree, id, false);
  if (!op) return {Errc::out_of_memory};
  op->verb = Verb::steer;
  try {
    std::unique_ptr<SendOptions> none;
    Cell cell(tree.pool, message, none);
    StopSource cut(std::nostopstate);
    const SendResult result = put_into_turn(tree, *node, id, cell, options, cut);
    if (!result) return result;
    cell.release();
    note_mail(tree, id);
    tree.control.push(std::move(op));
    core::request_stop(cut);  // before the loop is woken, with which the server would compete for a processor
    tree.waker->notify();
    return result;
  } catch (const std::bad_alloc&) {
    return {Errc::out_of_memory};
  }
}

// The loop starts the timer of the message. Without memory the deadline is noticed when the message is taken.
// @threadsafe
void watch_deadline(TreeShared& tree, core::NodeId agent, MessageId id, TimePoint deadline) noexcept {
  try {
    tree.engine->post(
        [&tree, keep = tree.handle(agent), agent, id, deadline] { start_timer(tree, agent, id, deadline); });
  } catch (const std::bad_alloc&) {
  }
}

std::size_t queue_length(const TreeShared& tree, core::NodeId id) noexcept {
  const Node* node = tree.resolve(id);
  return node ? tree.queue_length(*node, id) : 0;
}

std::size_t count_mail(const TreeShared& tree, const core::References& refers) noexcept {
  std::size_t count = 0;
  for (std::uint32_t index = 1; index < tree.table.slots(); ++index) {
    const Node& node = tree.table.slot(index);
    const bool free = node.load().is_free();
    // The id of an agent that is gone names no slot any more: what a free slot holds belongs to some of them.
    if (!refers(free ? core::make_id(index, 0) : node.id())) continue;
    count += (node.message.load() != 0) + node.scheduled.load();
    if (free)
      count += (node.backlog != 0) + (node.spec != nullptr) + (node.data != nullptr) +
               (node.newest_operation.load() != 0);
    else
      count += mailbox::length(node, node.load().generation());
  }
  return count;
}

std::size_t drop_queue(TreeShared& tree, core::NodeId id) {
  assert(tree.is_closed() || tree.engine->on_loop_thread());
  Node* node = tree.resolve(id);
  if (!node || !node->load().is_open()) return 0;
  const LoopEntry entry(tree.lifetime);
  const std::size_t waiting = queue_length(tree, id);
  drop(tree, *node, mailbox::clear(*node, tree.pool), DropReason::queue_dropped);
  return waiting;
}

std::vector<QueuedMessage> queued(TreeShared& tree, core::NodeId id) {
  assert(tree.is_closed() || tree.engine->on_loop_thread());
  std::vector<QueuedMessage> all;
  if (Node* const node = tree.resolve(id))
    mailbox::for_each(*node, tree.pool, [&](std::uint32_t number) {
      if (tree.waits(*node, number))
        all.push_back({tree.pool.id_of(number), tree.pool[number].copy(), tree.pool[number].deadline(),
                       tree.pool[number].is_simulated()});
    });
  return all;
}

Result<void> edit_queued(TreeShared& tree, core::NodeId agent, MessageId id, Message&& message) {
  if (const std::optional<Errc> problem = problem_of(tree, message))
    return Error{*problem, "the message cannot replace the queued one: " + std::string(to_string(*problem))};
  return change_queued(tree, agent, id, [&](Node& node, std::uint32_t number) {
    tree.pool[number].replace(std::move(message));
    if (persist::Recorder* const recorder = tree.recorder()) recorder->note_edited_mail(node);
  });
}

Result<void> remove_queued(TreeShared& tree, core::NodeId agent, MessageId id) {
  return change_queued(tree, agent, id, [&](Node& node, std::uint32_t number) {
    remove(tree, node, number, DropReason::removed);
  });
}

}  // namespace agentcore::detail::tree
