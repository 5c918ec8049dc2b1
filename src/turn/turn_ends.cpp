#include "turn/turn_ends.hpp"

#include "core/code_points.hpp"
#include "core/fence.hpp"
#include "core/message_items.hpp"
#include "turn/call_ends.hpp"
#include "turn/compactor.hpp"
#include "turn/lingering_calls.hpp"
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

// Why what the turn still receives is late.
DiscardReason late_after(const core::Node& node, TurnOutcome outcome, TurnEnd how) noexcept {
  switch (outcome) {
    case TurnOutcome::stopped:
      return why_refused(node);
    case TurnOutcome::interrupted:
      return DiscardReason::interrupted;
    case TurnOutcome::aborted:
      return how == TurnEnd::refused ? DiscardReason::aborted : DiscardReason::turn_over;
    default:
      return how == TurnEnd::deadline ? DiscardReason::deadline_exceeded : DiscardReason::turn_over;
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

// True if something of the turn may be in flight.
bool is_early(TurnEnd how) noexcept {
  return how == TurnEnd::refused || how == TurnEnd::deadline || how == TurnEnd::broken_off;
}

}  // namespace

Next TurnEnds::end(Turn turn, TurnEnd how, ChatError error, FinishReason reason) {
  if (turn.is_over()) return Next::ended;
  core::Node& node = turn.node();
  how = settle_end(turn, how, error, reason);
  const TurnOutcome outcome = outcome_of(turn, how);
  // In a closed tree the turn stays for the functions on the stack that refer to it, and is freed with the
  // tree.
  if (is_early(how) && context_.hub.closed()) return Next::ended;
  if (how == TurnEnd::completed)
    write_answer(turn);
  else
    mark_question(turn, how, outcome);
  // Before the cut: deliveries during the cut find the turn over.
  std::unique_ptr<ActiveTurn> owned = std::exchange(turn.data().turn, nullptr);
  ActiveTurn& ended = *owned;
  if (is_early(how)) {
    // Functions on the stack may still refer to it: a callback of the turn can end it, by a rewind.
    owned->next_ended = std::move(ended_);
    ended_ = std::move(owned);
  }
  turn.data().is_ending = true;
  context_.listener.on_turn_over(node);
  CutTrail* const trail = outcome == TurnOutcome::stopped ? context_.cuts : nullptr;
  const CutTrail::OpenCall call = trail ? CutTrail::open_call(ended) : CutTrail::OpenCall();
  cut(turn, how, ended, late_after(node, outcome, how));
  if (is_early(how) &&
      context_.hub.closed()) {  // a callback destroyed the tree: no usage is counted any more
    turn.data().ending = nullptr;
    return Next::ended;
  }
  const bool lingers = outcome == TurnOutcome::interrupted || how == TurnEnd::deadline;
  if (lingers) lingering_.watch_all(node, turn.number());
  // After the cut, because counting takes time: where thousands of agents stop, each connection would stay
  // open for longer.
  usage_.settle(node, ended);
  if (trail) trail->add_turn(node, turn.number(), ended, call);
  ended.result->outcome = outcome;
  if (how != TurnEnd::completed) write_error(node, how, ended, std::move(error), reason);
  // The wording is fixed by requirement I10. An interrupt has a record of its own.
  if (outcome == TurnOutcome::stopped)
    context_.log(LogLevel::info, "Agent execution was cancelled", {{"agent", context_.name_of(node)}});
  if (ended.summary) Compactor::emit_end(context_, node, turn.number(), *ended.summary, Errc::turn_over);
  emit_end(turn, ended);
  if (lingers) lingering_.give_up_left(node, turn.number());
  follow_end(node, how, outcome);
  return Next::ended;
}

// Leaves the state of the turn, before anything of its end is written. Returns how it ends: in another way if
// a verb or its deadline came first, with the error of that.
TurnEnd TurnEnds::settle_end(Turn turn, TurnEnd how, ChatError& error, FinishReason& reason) noexcept {
  if (how == TurnEnd::failed && turn.node().load().state() == AgentState::waiting_llm) {
    how = TurnEnd::failed_call;
    reason = FinishReason::unknown;
  }
  if (how == TurnEnd::broken_off)
    context_.log(LogLevel::error, "a turn was broken off",
                 {{"agent", context_.name_of(turn.node())}, {"why", error.message}});
  if (how != TurnEnd::refused && leave(turn, how)) return how;
  if (!turn.is_open() || !turn.is_late()) return TurnEnd::refused;
  error = {};
  error.code = Errc::deadline_exceeded;
  context_.engine.guarded("a turn's deadline", [&] { error.message = text_of(*turn.active().deadline); });
  context_.log(LogLevel::info, "a turn ended at its deadline",
               {{"agent", context_.name_of(turn.node())}, {"why", error.message}});
  return leave(turn, TurnEnd::deadline) ? TurnEnd::deadline : TurnEnd::refused;
}

// False: a verb came first, and has ended the turn.
bool TurnEnds::leave(Turn turn, TurnEnd how) noexcept {
  if (how == TurnEnd::completed || how == TurnEnd::failed)
    return turn.is_open() && turn.try_change_state(AgentState::processing, AgentState::idle);
  // An abort by an observer of the end finds no call any more (A16).
  if (how == TurnEnd::failed_call || how == TurnEnd::cancelled_call)
    return turn.try_change_state(AgentState::waiting_llm, AgentState::idle);
  if (!turn.is_open()) return false;
  const AgentState from = turn.node().load().state();
  return can_process(from) && (from == AgentState::idle || turn.try_change_state(from, AgentState::idle));
}

TurnOutcome TurnEnds::outcome_of(Turn turn, TurnEnd how) noexcept {
  if (how == TurnEnd::completed) return TurnOutcome::completed;
  if (how == TurnEnd::cancelled_call) return TurnOutcome::aborted;
  if (how != TurnEnd::refused) return TurnOutcome::failed;
  core::Node& node = turn.node();
  const auto is_open = [&node] { return core::look(node, node.load().generation()).open(); };
  if (!is_open()) return TurnOutcome::stopped;
  if (core::is_interrupted(node)) write_interrupted(node, turn.epoch());
  return node.load().was_interrupted() ? TurnOutcome::interrupted : TurnOutcome::aborted;
}

void TurnEnds::write_answer(Turn turn) {
  ActiveTurn& active = turn.active();
  active.result->finish_reason = active.answer.finish_reason;
  if (active.simulated) return;
  turn.data().conversation.answer(
      core::items_of(active.result->text, std::move(active.answer.reasoning), {}, active.answer.order));
  if (turn.data().answer_check && !active.tool_ends_turn) leave_json(active.result->text);
}

// Without memory the texts stay empty.
void TurnEnds::write_error(const core::Node& node, TurnEnd how, ActiveTurn& ended, ChatError error,
                           FinishReason reason) noexcept {
  TurnResult& result = *ended.result;
  const bool of_call = how == TurnEnd::failed_call || how == TurnEnd::cancelled_call;
  if (of_call || how == TurnEnd::failed) result.finish_reason = reason;
  if (is_early(how) || how == TurnEnd::cancelled_call) result.text.clear();  // the words of an earlier answer
  if (how == TurnEnd::cancelled_call) error.code = Errc::none;  // an abort is an outcome, not an error
  if (of_call && error.message.empty()) set_message(error, "LLM call failed");
  if (how == TurnEnd::refused) {
    error = {};
    if (result.outcome == TurnOutcome::stopped)
      error.message = std::move(ended.stop_reason);
    else
      set_message(error, context_.end_reasons.find(node).reason());
    // The wording is fixed by requirements I4 and I10.
    if (error.message.empty())
      set_message(
          error, result.outcome == TurnOutcome::aborted ? "the call was aborted" : "Task terminated by user");
  }
  result.error = std::move(error);
}

Next TurnEnds::end_for_budget(Turn turn, BudgetVerdict verdict) {
  if (verdict.exhausted) context_.listener.on_budget_exhausted(*verdict.exhausted, verdict.reason);
  if (turn.is_over()) return Next::ended;
  turn.active().stop_reason = "a budget is used up: " + verdict.reason;
  if (!turn.is_admitted()) return Next::ended;
  return end(turn, TurnEnd::failed, {Errc::budget_exceeded, std::move(verdict.reason), 0, true});
}

bool TurnEnds::end_refused(core::Node& node) noexcept {
  const std::optional<Turn> turn = Turn::of(node);
  if (!turn || turn->check() != Admission::refused || !core::look(node, node.load().generation()).open())
    return false;
  end(*turn, TurnEnd::refused);
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
  end(*turn, TurnEnd::refused);
  context_.end_activity(*node);
}

// The state after the end of a turn. An observer of the end may have stopped the agent: then the stop is
// emitted next (X2).
void TurnEnds::follow_end(core::Node& node, TurnEnd how, TurnOutcome outcome) noexcept {
  if (how != TurnEnd::refused) context_.hub.emit_idle(node);
  // The loop may not have read the verb of another thread yet, and the next turn may begin before it does.
  else if (outcome != TurnOutcome::stopped)
    context_.hub.emit_idle(node, {StopCause::user, context_.end_reasons.find(node)});
  context_.hub.porch.note_ended(node.id());
  if (how == TurnEnd::broken_off) context_.end_activity(node);
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

// Ends the operations of the turn: its model call, its tool calls and their questions. A turn that ends by
// itself has none, but for a model call that its caller cuts.
void TurnEnds::cut(Turn turn, TurnEnd how, ActiveTurn& ended, DiscardReason late) noexcept {
  if (is_early(how)) turn.data().ending = &ended;
  if (is_early(how) && ended.operation) {
    context_.operations[ended.operation].end(late);
    context_.operations.cut(ended.operation);
  }
  if (!ended.result->calls.empty())
    calls_.cancel(turn.node(), turn.number(), ended.calls, *ended.result, late);
}

// The turn has no final answer: marks its question, and writes what is kept of the answer.
void TurnEnds::mark_question(Turn turn, TurnEnd how, TurnOutcome outcome) noexcept {
  ActiveTurn& active = turn.active();
  if (is_early(how)) {
    context_.drop_outgoing(active);
    calls_.withdraw(turn);
  }
  if (how == TurnEnd::failed) active.delivered = {};  // complete, but refused
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
  turn.data().conversation.interrupt(interruption_by(outcome), std::move(part));
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
