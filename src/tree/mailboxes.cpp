#include "tree/mailboxes.hpp"

#include "core/blank.hpp"
#include "core/gates.hpp"
#include "core/stop_request.hpp"
#include "core/utf8.hpp"
#include "tree/dropped_messages.hpp"
#include "tree/refusals.hpp"

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

}  // namespace

// The message during its send: it gets a cell of the pool when it is pushed for the first time, and returns
// the cell unless a mailbox has taken it over.
class Mailboxes::Cell {
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

std::optional<Errc> Mailboxes::problem_of(const Message& message) const noexcept {
  if (is_empty(message)) return Errc::empty_message;
  if (size_of(message) > tree_.options.max_message_bytes) return Errc::message_too_large;
  if (!core::is_utf8(message.text)) return Errc::invalid_utf8;
  return std::nullopt;
}

SendResult Mailboxes::send(core::NodeId id, Message&& message, std::unique_ptr<SendOptions> options) {
  return send_from(Origin::any, id, std::move(message), std::move(options), nullptr);
}

SendResult Mailboxes::simulate(core::NodeId id, std::string&& answer) {
  return send_from(Origin::simulated, id, detail::text_message(std::move(answer)), {}, nullptr);
}

SendResult Mailboxes::delegate(core::NodeId id, Message&& message, SendOptions&& options,
                               std::shared_ptr<core::CallBegin> begin) {
  try {
    return send_from(Origin::tool_call, id, std::move(message),
                     std::make_unique<SendOptions>(std::move(options)), std::move(begin));
  } catch (const std::bad_alloc&) {
    return SendResult{Errc::out_of_memory};
  }
}

SendResult Mailboxes::send_from(Origin origin, core::NodeId id, Message&& message,
                                std::unique_ptr<SendOptions> options,
                                std::shared_ptr<core::CallBegin> begin) {
  Node* node = tree_.reach(id);
  if (!node || node->is_root_sentinel()) return SendResult{tree_.missing()};
  if (const std::optional<Errc> problem = problem_of(message)) return SendResult{*problem};
  const std::optional<TimePoint> deadline = options ? options->deadline : std::nullopt;
  try {
    Cell cell(tree_.pool, message, options, origin == Origin::simulated);
    if (origin == Origin::tool_call) tree_.pool[cell.number()].delegate(std::move(begin));
    const SendResult sent = push(origin, *node, id, cell);
    if (sent && deadline && *deadline != no_limit) watch_deadline(id, sent.id, *deadline);
    return sent;
  } catch (const std::bad_alloc&) {
    return SendResult{Errc::out_of_memory};
  }
}

// Checks the gates and pushes until the mailbox has accepted the message, or there is a reason to refuse it.
SendResult Mailboxes::push(Origin origin, Node& node, core::NodeId id, Cell& cell) {
  const std::uint32_t generation = core::generation_of(id);
  for (;;) {
    tree_.table.leases().check(node);
    core::PackedState accepting = core::accepting(node, generation);
    if (accepting.is_free()) {
      const GateView view = core::look_again(node, generation);
      if (!view.valid) return SendResult{Errc::agent_not_found};
      if (!view.open()) {
        const auto by = origin == Origin::tool_call ? ResumedBy::message_of_call : ResumedBy::message;
        const Errc refused = resume_or_refuse(node, id, view.effective, by);
        if (refused == Errc::none) continue;
        return SendResult{refused};
      }
      const core::Grade grade = origin == Origin::tool_call ? view.own.stop_grade() : view.grade;
      if (grade != core::Grade::none) return SendResult{Errc::agent_stopping};
      accepting = view.own;
    }
    const MessageId message = cell.id();
    switch (mailbox::push(node, tree_.pool, tree_.cleared, cell.number(), generation, accepting.epoch())) {
      case mailbox::Push::closed:  // closed after the check: the next check finds the reason
        continue;
      case mailbox::Push::full:
        return SendResult{Errc::mailbox_full};
      case mailbox::Push::gone:
        return SendResult{Errc::agent_not_found};
      case mailbox::Push::queued_first:
        if (tree_.ready.add(node)) tree_.waker->notify();
        cell.release();
        if (tree_.mail_notes.is_enabled()) note_mail(id);
        return {Errc::none, message};
      case mailbox::Push::queued:
        // It may pass messages that wait for a release of the mailbox, or that a deferred stop withholds.
        if (origin == Origin::tool_call && tree_.ready.add(node)) tree_.waker->notify();
        cell.release();
        if (tree_.mail_notes.is_enabled()) note_mail(id);
        return {Errc::none, message};
    }
  }
}

// For the store. @threadsafe
void Mailboxes::note_mail(core::NodeId id) noexcept {
  if (tree_.mail_notes.add(id)) tree_.waker->notify();
}

SteerResult Mailboxes::steer(core::NodeId id, Message&& message, const SteerOptions& options) {
  const Agent keep = tree_.handle(id);  // a cut may run callbacks, and they may drop all other handles
  Node* node = tree_.reach(id);
  if (!node || node->is_root_sentinel()) return {tree_.missing()};
  if (const std::optional<Errc> problem = problem_of(message)) return {*problem};
  auto op = op_for(tree_, id, false);
  if (!op) return {Errc::out_of_memory};
  op->verb = Verb::steer;
  try {
    std::unique_ptr<SendOptions> none;
    Cell cell(tree_.pool, message, none);
    StopSource cut(std::nostopstate);
    const SteerResult result = put_into_turn(*node, id, cell, options, cut);
    if (!result) return result;
    cell.release();
    note_mail(id);
    tree_.control.push(std::move(op));
    core::request_stop(cut);  // before the loop is woken, with which the server would compete for a processor
    tree_.waker->notify();
    return result;
  } catch (const std::bad_alloc&) {
    return {Errc::out_of_memory};
  }
}

// Adds the message to those that wait for a step. With SteerWhen::now, and if a model call is open, `cut` is
// its stop source.
SteerResult Mailboxes::put_into_turn(Node& node, core::NodeId id, Cell& cell, const SteerOptions& options,
                                     StopSource& cut) {
  const std::size_t limit = node.mailbox_limit.load(std::memory_order_relaxed);
  for (;;) {
    tree_.table.leases().check(node);
    const GateView before = core::look_again(node, core::generation_of(id));
    if (!before.valid) return {Errc::agent_not_found};
    if (!before.open()) {
      const Errc refused = resume_or_refuse(node, id, before.effective, ResumedBy::message);
      if (refused == Errc::none) continue;
      return {refused};
    }
    if (before.grade != core::Grade::none) return {Errc::agent_stopping};
    SteerResult result{.id = cell.id()};
    tree_.pool[cell.number()].agent.store(id, std::memory_order_relaxed);
    const mailbox::SteerEntry entry{.cell = cell.number(),
                                    .id = result.id,
                                    .give_back = options.fallback == SteerFallback::give_back,
                                    .sent_at = tree_.cleared.count()};
    const auto check = [&](mailbox::SteerEntry& added, std::uint32_t reasks) {
      const GateView view = core::look(node, core::generation_of(id));
      if (!view.open() || view.grade != core::Grade::none)
        return false;  // closed since the check above, perhaps already emptied
      added.now = options.when == SteerWhen::now && view.effective == AgentState::waiting_llm &&
                  reasks < tree_.options.max_reasks && !operations_.has_summary(node, view.own.epoch());
      if (!added.now) return true;
      result.when = SteerWhen::now;
      cut = operations_.model_call_of(node, view.own.epoch());
      return true;
    };
    switch (tree_.steers.add(id, entry, limit, check)) {
      case mailbox::SteerBox::Added::waits:
        return result;
      case mailbox::SteerBox::Added::full:
        return {Errc::mailbox_full};
      case mailbox::SteerBox::Added::refused:
        continue;
    }
  }
}

// The loop starts the timer of the message. Without memory the deadline is noticed when the message is taken.
// @threadsafe
void Mailboxes::watch_deadline(core::NodeId agent, MessageId id, TimePoint deadline) noexcept {
  try {
    tree_.engine->post(
        [this, keep = tree_.handle(agent), agent, id, deadline] { start_timer(agent, id, deadline); });
  } catch (const std::bad_alloc&) {
  }
}

void Mailboxes::start_timer(core::NodeId agent, MessageId id, TimePoint deadline) {
  const Node* const node = tree_.reach(agent);
  const std::uint32_t number = node ? tree_.pool.find(id) : 0;
  if (!number || !tree_.pool.holds(number, id)) return;                 // dropped, or its turn has ended
  if (node->message.load(std::memory_order_relaxed) == number) return;  // its turn has begun
  const std::uint64_t timer =
      tree_.engine->start_timer(deadline, [this, agent, id] { on_deadline(agent, id); });
  tree_.pool[number].set_timer(Timer(tree_.engine->weak_from_this(), timer));
}

void Mailboxes::on_deadline(core::NodeId agent, MessageId id) noexcept {
  Node* const node = tree_.reach(agent);
  if (!node) return;
  const LoopEntry entry(tree_.lifetime);
  if (const std::uint32_t number = find_queued(*node, agent, id))
    remove(*node, number, DropReason::deadline_exceeded);
}

// The message of that cell waits, and is not dropped yet.
void Mailboxes::remove(Node& node, std::uint32_t number, DropReason reason) {
  const mailbox::DroppedMessages dropped = mailbox::remove(node, tree_.pool, number);
  tree_.cleared.note_taken(node.id(), tree_.pool[number].position.load(std::memory_order_relaxed));
  drop(node, dropped, reason);
}

// Reports messages that were removed from a mailbox whose agent is perhaps in no ready list. A sender that
// has pushed meanwhile may rely on the loop to look at what is left: see mailbox::remove().
void Mailboxes::drop(Node& node, const mailbox::DroppedMessages& dropped, DropReason reason) {
  const bool has_more = mailbox::length(node, node.load().generation()) != 0;
  const bool is_ready = has_more && !tree_.is_closed() && tree_.ready.add(node);
  report_dropped(hub_, node, dropped, reason);
  if (is_ready && !tree_.is_closed()) tree_.waker->notify();  // last: it may call a function of the host
}

// Resumes a stopped agent if its spec allows it (`auto_resume`) and its lease has not run out: then returns
// Errc::none, and the sender tries again. Otherwise returns the reason for the refusal.
Errc Mailboxes::resume_or_refuse(const Node& node, core::NodeId id, AgentState effective, ResumedBy by) {
  if (effective == AgentState::stopped && node.auto_resume.load(std::memory_order_relaxed)) {
    const Errc refused = resume(tree_, id, {}, by).reason;
    if (refused == Errc::none || refused == Errc::not_stopped)
      return Errc::none;  // another sender resumed it
    if (refused == Errc::out_of_memory) return refused;
  }
  return send_reason_of(effective);
}

std::size_t Mailboxes::length(core::NodeId id) const noexcept {
  const Node* node = tree_.resolve(id);
  return node ? tree_.queue_length(*node, id) : 0;
}

std::size_t Mailboxes::count(const core::References& refers) const noexcept {
  std::size_t count = 0;
  for (std::uint32_t index = 1; index < tree_.table.slots(); ++index) {
    const Node& node = tree_.table.slot(index);
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

std::size_t Mailboxes::clear(core::NodeId id) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  Node* node = tree_.resolve(id);
  if (!node || !node->load().is_open()) return 0;
  const LoopEntry entry(tree_.lifetime);
  const std::size_t waiting = length(id);
  drop(*node, mailbox::clear(*node, tree_.pool), DropReason::queue_cleared);
  return waiting;
}

std::vector<QueuedMessage> Mailboxes::queued(core::NodeId id) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  std::vector<QueuedMessage> all;
  if (Node* const node = tree_.resolve(id))
    mailbox::for_each(*node, tree_.pool, [&](std::uint32_t number) {
      if (tree_.waits(*node, number))
        all.push_back({tree_.pool.id_of(number), tree_.pool[number].copy(), tree_.pool[number].deadline(),
                       tree_.pool[number].is_simulated()});
    });
  return all;
}

// The cell of a message that waits in the mailbox of that agent, or 0.
std::uint32_t Mailboxes::find_queued(Node& node, core::NodeId agent, MessageId id) noexcept {
  const std::uint32_t number = tree_.pool.find(id);
  if (!number || !tree_.pool.holds(number, id)) return 0;
  std::uint32_t found = 0;
  mailbox::for_each(node, tree_.pool, [&](std::uint32_t waiting) {
    if (waiting == number && tree_.pool[number].belongs_to(agent) && tree_.waits(node, number))
      found = number;
  });
  return found;
}

// Calls change(node, cell number) for a message that waits.
template <typename Change>
ChangeResult Mailboxes::change_queued(core::NodeId agent, MessageId id, Change&& change) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  Node* const node = tree_.reach(agent);
  if (!node) {
    Error problem = tree_.missing(no_agent_text);
    return {problem.code, std::move(problem.message)};
  }
  const LoopEntry entry(tree_.lifetime);
  const std::uint32_t number = find_queued(*node, agent, id);
  if (!number)
    return {Errc::message_not_found, "no message " + to_string(id) +
                                         " waits in the mailbox of the agent: its turn has begun, it was "
                                         "dropped, or it was sent to another agent"};
  change(*node, number);
  return {};
}

ChangeResult Mailboxes::edit_queued(core::NodeId agent, MessageId id, Message&& message) {
  if (const std::optional<Errc> problem = problem_of(message))
    return {*problem, "the message cannot replace the queued one: " + std::string(to_string(*problem))};
  return change_queued(agent, id, [&](Node& node, std::uint32_t number) {
    tree_.pool[number].replace(std::move(message));
    if (persist::Recorder* const recorder = tree_.recorder()) recorder->note_edited_mail(node);
  });
}

ChangeResult Mailboxes::remove_queued(core::NodeId agent, MessageId id) {
  return change_queued(agent, id,
                       [&](Node& node, std::uint32_t number) { remove(node, number, DropReason::removed); });
}

}  // namespace agentcore::detail::tree
