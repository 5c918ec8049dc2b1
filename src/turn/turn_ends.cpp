#include "turn/turn_ends.hpp"

#include "core/code_points.hpp"
#include "core/fence.hpp"
#include "core/message_items.hpp"
#include "turn/compactor.hpp"
#include "turn/lingering_calls.hpp"
#include "turn/tool_calls.hpp"
#include "turn/usage_accounting.hpp"

#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace agentcore::detail::turn {
namespace {

// Without memory the text stays empty: the turn ends anyway.
void set_message(ChatError& error, std::string_view text) noexcept {
  try {
    error.message = text;
  } catch (const std::bad_alloc&) {
    error.message.clear();
  }
}

// Leaves the JSON of a checked answer, without its code fence. Allocates nothing.
void leave_json(std::string& answer) noexcept {
  const std::string_view json = core::without_fence(answer);
  const auto before = static_cast<std::size_t>(json.data() - answer.data());
  answer.resize(before + json.size());
  answer.erase(0, before);
}

// Why a turn ended early, for its result. The wording is fixed by requirements I4 and I10.
std::string_view reason_of(TurnOutcome outcome, std::string_view why) noexcept {
  switch (outcome) {
    case TurnOutcome::aborted:
      return "the call was aborted";
    case TurnOutcome::stopped:
    case TurnOutcome::interrupted:
      return "Task terminated by user";
    default:
      return why;
  }
}

// Why what the turn still receives is late.
DiscardReason late_after(const core::Node& node, TurnOutcome outcome, Errc code) noexcept {
  switch (outcome) {
    case TurnOutcome::stopped:
      return why_refused(node);
    case TurnOutcome::interrupted:
      return DiscardReason::interrupted;
    case TurnOutcome::aborted:
      return DiscardReason::aborted;
    default:
      return code == Errc::deadline_exceeded ? DiscardReason::deadline_exceeded : DiscardReason::turn_over;
  }
}

Interruption interruption_by(TurnOutcome outcome) noexcept {
  switch (outcome) {
    case TurnOutcome::aborted:
      return Interruption::aborted;
    case TurnOutcome::stopped:
      return Interruption::stopped;
    case TurnOutcome::interrupted:
      return Interruption::interrupted;
    default:
      return Interruption::failed;
  }
}

// Any state of the turn -> idle. False: a verb came first.
bool become_idle(Turn turn) noexcept {
  const AgentState from = turn.node().load().state();
  return can_process(from) && (from == AgentState::idle || turn.try_change_state(from, AgentState::idle));
}

}  // namespace

Next TurnEnds::complete(Turn turn) {
  // First, so that a verb of another thread has ended the turn, or finds it over.
  if (!leave(turn)) return Next::ended;
  ActiveTurn& active = turn.active();
  active.result->finish_reason = active.answer.finish_reason;
  if (!active.simulated)
    turn.data().conversation.answer(
        core::items_of(active.result->text, std::move(active.answer.reasoning), {}, active.answer.order));
  if (turn.data().answer_check && !active.simulated && !active.tool_ends_turn)
    leave_json(active.result->text);
  emit_end(turn, *take_out(turn));
  follow_end(turn);
  return Next::ended;
}

Next TurnEnds::fail(Turn turn, ChatError error, FinishReason reason) {
  if (turn.node().load().state() == AgentState::waiting_llm)
    return fail_call(turn, ChatOutcome::failed(std::move(error)));
  if (!leave(turn)) return Next::ended;
  turn.active().delivered = {};  // complete, but refused
  mark_question(turn, Interruption::failed);
  const std::unique_ptr<ActiveTurn> ended = take_out(turn);
  TurnResult& result = *ended->result;
  result.outcome = TurnOutcome::failed;
  result.finish_reason = reason;
  result.error = std::move(error);
  emit_end(turn, *ended);
  follow_end(turn);
  return Next::ended;
}

// processing -> idle, which is emitted after the end of the turn. False: a verb came first, and has ended it.
bool TurnEnds::leave(Turn turn) noexcept {
  if (turn.is_open() && turn.try_change_state(AgentState::processing, AgentState::idle)) return true;
  interrupt(turn);
  return false;
}

Next TurnEnds::fail_call(Turn turn, ChatOutcome outcome) {
  const bool aborted = outcome.kind == ChatOutcome::Kind::cancelled;
  // First, so that an abort by an observer of the end finds no call any more (A16).
  if (!turn.try_change_state(AgentState::waiting_llm, AgentState::idle)) {
    interrupt(turn);
    return Next::ended;
  }
  mark_question(turn, aborted ? Interruption::aborted : Interruption::failed);
  const std::unique_ptr<ActiveTurn> ended = take_out(turn);
  TurnResult& result = *ended->result;
  result.outcome = aborted ? TurnOutcome::aborted : TurnOutcome::failed;
  result.finish_reason = outcome.finish_reason;
  result.error = std::move(outcome.error);
  if (aborted) {  // an abort is an outcome, not an error
    result.error.code = Errc::none;
    result.text.clear();  // the words of an earlier answer
  }
  if (result.error.message.empty()) set_message(result.error, "LLM call failed");
  emit_end(turn, *ended);
  follow_end(turn);
  return Next::ended;
}

Next TurnEnds::end_for_budget(Turn turn, BudgetVerdict verdict) {
  if (verdict.exhausted) context_.listener.on_budget_exhausted(*verdict.exhausted, verdict.reason);
  if (turn.is_over()) return Next::ended;
  turn.active().stop_reason = "a budget is used up: " + verdict.reason;
  if (!turn.is_admitted()) return Next::ended;
  return fail(turn, {Errc::budget_exceeded, std::move(verdict.reason), 0, true});
}

void TurnEnds::interrupt(Turn turn) noexcept {
  if (turn.is_over()) return;
  if (turn.is_open() && turn.is_late() && end_at_deadline(turn)) return;
  core::Node& node = turn.node();
  const auto is_open = [&node] { return core::look(node, node.load().generation()).open(); };
  TurnOutcome outcome = TurnOutcome::stopped;
  if (is_open()) {
    if (core::is_interrupted(node)) write_interrupted(node, turn.epoch());
    outcome = node.load().was_interrupted() ? TurnOutcome::interrupted : TurnOutcome::aborted;
  }
  end_early(turn, outcome, Errc::none, {});
  // The loop may not have read the verb of another thread yet, and the next turn may begin before it does.
  if (outcome != TurnOutcome::stopped)
    context_.hub.emit_idle(node, {StopCause::user, context_.end_reasons.find(node)});
  context_.hub.porch.note_ended(node.id());
}

bool TurnEnds::end_refused(core::Node& node) noexcept {
  const std::optional<Turn> turn = Turn::of(node);
  if (!turn || turn->check() != Admission::refused || !core::look(node, node.load().generation()).open())
    return false;
  interrupt(*turn);
  return true;
}

Next TurnEnds::watch_deadline(Turn turn) {
  std::optional<TurnDeadline>& deadline = turn.active().deadline;
  if (!deadline) return Next::proceed;
  if (deadline->has_passed()) return Next::ended;
  loop::Engine& engine = context_.engine;
  const std::uint64_t timer = engine.start_timer(
      deadline->when,
      [this, agent = turn.node().id(), number = turn.number()] { on_deadline(agent, number); });
  deadline->timer = Timer(engine.weak_from_this(), timer);
  return Next::proceed;
}

void TurnEnds::on_deadline(core::NodeId agent, std::uint64_t number) noexcept {
  core::Node* const node = context_.find(agent);
  if (!node) return;
  const AgentEntry entry(context_, *node);
  const std::optional<Turn> turn = Turn::of(*node);
  if (!turn || turn->number() != number) return;
  interrupt(*turn);
  context_.end_activity(*node);
}

// False: a verb came first.
bool TurnEnds::end_at_deadline(Turn turn) noexcept {
  std::string why;
  context_.engine.guarded("a turn's deadline", [&] { why = text_of(*turn.active().deadline); });
  context_.log(LogLevel::info, "a turn ended at its deadline",
               {{"agent", context_.name_of(turn.node())}, {"why", why}});
  if (!turn.is_open() || !become_idle(turn)) return false;
  end_early(turn, TurnOutcome::failed, Errc::deadline_exceeded, why);
  follow_end(turn);
  return true;
}

void TurnEnds::break_off(Turn turn, Errc code, std::string_view why) noexcept {
  if (turn.is_over()) return;
  context_.log(LogLevel::error, "a turn was broken off",
               {{"agent", context_.name_of(turn.node())}, {"why", why}});
  if (!turn.is_open() || !become_idle(turn)) return interrupt(turn);
  end_early(turn, TurnOutcome::failed, code, why);
  follow_end(turn);
  context_.end_activity(turn.node());
}

// Ends a turn that has no answer yet. Without memory the turn ends anyway, with empty texts. If the tree is
// closed, the turn stays for the functions on the stack that refer to it, and is freed with the tree.
void TurnEnds::end_early(Turn turn, TurnOutcome outcome, Errc code, std::string_view why) noexcept {
  if (context_.hub.closed()) return;
  core::Node& node = turn.node();
  TurnData& data = turn.data();
  context_.drop_outgoing(turn.active());
  records_.withdraw(turn);
  mark_question(turn, interruption_by(outcome));
  // Before the cut: deliveries during the cut find the turn over.
  std::unique_ptr<ActiveTurn> owned = std::exchange(data.turn, nullptr);
  ActiveTurn* const ended = owned.get();
  // Functions on the stack may still refer to it: a callback of the turn can end it, by a rewind.
  owned->next_ended = std::move(ended_);
  ended_ = std::move(owned);
  data.is_ending = true;
  context_.listener.on_turn_over(node);
  CutTrail* const trail = outcome == TurnOutcome::stopped ? context_.cuts : nullptr;
  const CutTrail::OpenCall call = trail ? CutTrail::open_call(*ended) : CutTrail::OpenCall();
  data.ending = ended;
  cut(turn, *ended, late_after(node, outcome, code));
  if (context_.hub.closed()) {  // a callback destroyed the tree: no usage is counted any more
    data.ending = nullptr;
    return;
  }
  const bool lingers = outcome == TurnOutcome::interrupted || code == Errc::deadline_exceeded;
  if (lingers) lingering_.watch_all(node, turn.number());
  // After the cut, because counting takes time: where thousands of agents stop, each connection would stay
  // open for longer.
  usage_.settle(node, *ended);
  if (trail) trail->add_turn(node, turn.number(), *ended, call);
  TurnResult& result = *ended->result;
  result.outcome = outcome;
  result.text.clear();
  result.error = {};
  result.error.code = code;
  if (outcome != TurnOutcome::failed) result.error.message = std::move(ended->stop_reason);
  if (outcome == TurnOutcome::interrupted || outcome == TurnOutcome::aborted)
    set_message(result.error, context_.end_reasons.find(node).reason());
  if (result.error.message.empty()) set_message(result.error, reason_of(outcome, why));
  // The wording is fixed by requirement I10. An interrupt has a record of its own.
  if (outcome == TurnOutcome::stopped)
    context_.log(LogLevel::info, "Agent execution was cancelled", {{"agent", context_.name_of(node)}});
  if (ended->summary) Compactor::emit_end(context_, node, turn.number(), *ended->summary, Errc::turn_over);
  emit_end(turn, *ended);
  if (lingers) lingering_.give_up_left(node, turn.number());
}

// The state after the end of a turn. An observer of the end may have stopped the agent: then the stop is
// emitted next (X2).
void TurnEnds::follow_end(Turn turn) noexcept {
  context_.hub.emit_idle(turn.node());
  context_.hub.porch.note_ended(turn.node().id());
}

// Stops those whose budgets the calls of the turn have exceeded, however it has ended, from the agent
// upwards. One that is closed begins nothing anyway.
void TurnEnds::stop_exhausted(core::Node& node) noexcept {
  if (context_.hub.closed() || !ledger_.is_exhausted(node)) return;
  core::NodeId next = node.id();
  for (;;) {
    core::Node* const owner = context_.find(next);
    if (!owner || owner->is_root_sentinel()) return;
    next = owner->parent.load(std::memory_order_relaxed)->id();
    if (!core::look(*owner, owner->load().generation()).open()) continue;
    const Account* const exhausted = ledger_.exhausted_of(*owner, owner == &node);
    if (exhausted == nullptr) continue;
    std::string reason;  // empty without memory: the agent is stopped all the same
    context_.engine.guarded("a budget", [&] { reason = exhausted->exhausted(); });
    context_.listener.on_budget_exhausted(*owner, std::move(reason));
  }
}

void TurnEnds::free_ended() noexcept {
  // Their ends may run the host's code. One by one, because each owns the next one.
  std::unique_ptr<ActiveTurn> turn = std::exchange(ended_, nullptr);
  while (turn) turn = std::exchange(turn->next_ended, nullptr);
}

// Ends the operations of the turn: its model call, its tool calls and their questions.
void TurnEnds::cut(Turn turn, ActiveTurn& ended, DiscardReason late) noexcept {
  if (ended.operation) {
    context_.operations[ended.operation].end(late);
    context_.operations.cut(ended.operation);
  }
  calls_.cancel(turn.node(), turn.number(), ended.calls, *ended.result, late);
}

// The turn has no final answer: marks its question, and writes what is kept of the answer.
void TurnEnds::mark_question(Turn turn, Interruption why) noexcept {
  ActiveTurn& active = turn.active();
  if (active.simulated) return;
  std::string part = std::exchange(active.cut_off, {});
  if (part.empty())
    part = context_.messages.acknowledgements.kept(turn.spec(), turn.node().id(), active.message,
                                                   std::exchange(active.delivered, {}));
  try {
    active.result->partial = part;
  } catch (const std::bad_alloc&) {
    part.clear();
  }
  turn.data().conversation.interrupt(why, std::move(part));
}

// Takes the turn out and settles its usage. From then on the turn is over.
std::unique_ptr<ActiveTurn> TurnEnds::take_out(Turn turn) noexcept {
  std::unique_ptr<ActiveTurn> ended = std::exchange(turn.data().turn, nullptr);
  turn.data().is_ending = true;
  context_.listener.on_turn_over(turn.node());
  if (!ended->result->calls.empty()) calls_.forget(turn.node(), turn.number());
  usage_.settle(turn.node(), *ended);
  return ended;
}

void TurnEnds::emit_end(Turn turn, const ActiveTurn& ended) noexcept {
  turn.data().is_ending = false;
  turn.data().ending = nullptr;
  context_.listener.on_waiting(turn.node());
  const std::uint64_t number = turn.number();
  const std::optional<LateAnswer> late = ended.late;
  core::make_displayable(ended.result->error.message);
  context_.emit_turn_ended(turn.node(), number, ended.message, ended.result);
  if (late) context_.discard(turn.node(), number, late->deltas, late->kind, late->reason);
}

}  // namespace agentcore::detail::turn
