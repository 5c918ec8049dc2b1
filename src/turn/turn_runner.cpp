#include "turn/turn_runner.hpp"

#include "core/code_points.hpp"
#include "core/transitions.hpp"
#include "tools/protocol.hpp"
#include "tools/text_protocol.hpp"
#include "turn/call_ends.hpp"
#include "turn/model_calls.hpp"
#include "turn/tool_calls.hpp"

#include <optional>
#include <vector>

namespace agentcore::detail::turn {
namespace {

std::size_t size_of(const std::vector<ReasoningBlock>& blocks) noexcept {
  std::size_t bytes = 0;
  for (const ReasoningBlock& block : blocks) bytes += block.data.size();
  return bytes;
}

std::size_t size_of(const std::vector<ToolCall>& calls) noexcept {
  std::size_t bytes = 0;
  for (const ToolCall& call : calls) bytes += call.id.size() + call.name.size() + call.arguments.size();
  return bytes;
}

// How many answers of this turn had calls, readable or not.
std::uint32_t answers_with_calls(const ActiveTurn& active) noexcept {
  return active.tool_turns + active.unreadable;
}

// How an answer ended; "" if it ended as usual.
std::string_view words_of_end(FinishReason reason) noexcept {
  return reason == FinishReason::length           ? "it was cut off at a token limit"
         : reason == FinishReason::content_filter ? "a content filter ended it"
         : reason == FinishReason::refusal        ? "it is a refusal of the model"
         : reason == FinishReason::other          ? "the provider ended it for a reason that is not known"
                                                  : "";
}

// True if the model would only repeat such an answer.
bool ends_for_good(FinishReason reason) noexcept {
  return reason == FinishReason::refusal || reason == FinishReason::content_filter;
}

// Why the calls of an answer are not run; nothing if they are.
std::optional<ChatError> refusal_of(Turn turn, const tools::ReadAnswer& answer, std::size_t max_bytes) {
  const ActiveTurn& active = turn.active();
  const std::uint32_t asked = answers_with_calls(active);
  if (turn.spec().limits.tool_rounds != no_limit && asked >= turn.spec().limits.tool_rounds)
    return ChatError{Errc::tool_round_limit,
                     "executed " + std::to_string(asked) +
                         " consecutive tool_call turns without a non-tool response; to allow more, raise "
                         "AgentSpec::limits.tool_rounds"};
  if (answer.calls.size() > tools::max_calls_per_answer)
    return ChatError{Errc::response_too_large, "the answer has " + std::to_string(answer.calls.size()) +
                                                   " tool calls, more than the " +
                                                   std::to_string(tools::max_calls_per_answer) + " allowed"};
  if (const std::size_t bytes = size_of(active.answer.tool_calls); bytes > max_bytes)
    return ChatError{Errc::response_too_large, "the tool calls of the answer have " + std::to_string(bytes) +
                                                   " bytes, more than the " + std::to_string(max_bytes) +
                                                   " of TreeOptions::max_answer_bytes"};
  return std::nullopt;
}

// True for a message that the MessageHandler of the agent handles.
bool is_for_handler(const core::Node& node, bool simulated) noexcept {
  return node.spec->handler && !simulated;
}

// The state in which the turn of a message begins.
AgentState first_state(const core::Node& node, bool simulated) noexcept {
  return simulated || node.spec->handler ? AgentState::processing : AgentState::waiting_llm;
}

// Turn::check() for an agent whose turn may be one of a MessageHandler.
bool is_admitted(TurnContext& context, const core::Node& node, std::uint32_t epoch) noexcept {
  context.table.leases().check(node);
  return core::admits_turn(node, node.load().generation(), epoch);
}

// The result of a turn of a MessageHandler that has completed. Nearly all do: these share one constant,
// without a count of references.
std::shared_ptr<const TurnResult> completed_result() noexcept {
  static const TurnResult completed;
  return {std::shared_ptr<void>(), &completed};
}

// The result of one that has not. Without memory its error has no text.
std::shared_ptr<const TurnResult> handler_result(TurnOutcome outcome, Errc code, std::string_view problem,
                                                 std::string_view why = {}) noexcept {
  try {
    auto result = std::make_shared<TurnResult>();
    result->outcome = outcome;
    result->error = {code, std::string(problem)};
    if (!why.empty()) result->error.message.append(": ").append(why);
    core::make_displayable(result->error.message);
    return result;
  } catch (const std::bad_alloc&) {
    static const TurnResult stopped{.outcome = TurnOutcome::stopped},
        failed{.outcome = TurnOutcome::failed, .error = {Errc::callback_failed}};
    return {std::shared_ptr<void>(), outcome == TurnOutcome::stopped ? &stopped : &failed};
  }
}

}  // namespace

void TurnRunner::prepare(core::Node& node, bool simulated, bool delegated, std::size_t parts,
                         std::uint32_t attempt) {
  if (is_for_handler(node, simulated)) return;
  TurnData& data = data_of(node);
  if (!data.next) data.next = std::make_unique<ActiveTurn>();
  data.next->delegated = delegated;
  data.next->attempt = attempt;
  data.conversation.make_room(1, parts);
}

core::PackedState TurnRunner::claim(core::Node& node, std::uint32_t epoch, bool simulated,
                                    bool delegated) noexcept {
  const AgentState to = first_state(node, simulated);
  core::PackedState packed = node.load();
  std::optional<core::PackedState> after;
  do {
    after = core::after_begin(packed, epoch, to, delegated);
    if (!after) return core::PackedState{};
  } while (!node.replace(packed, *after));
  return *after;
}

void TurnRunner::unclaim(core::Node& node, std::uint32_t epoch) noexcept {
  static_cast<void>(try_change_state(node, epoch, node.load().state(), AgentState::idle));
}

void TurnRunner::begin(core::Node& node, Message&& message, bool simulated, MessageId id, std::uint32_t epoch,
                       TimePoint deadline) {
  ++node.turns;
  if (is_for_handler(node, simulated)) return run_handler(node, message, id, epoch);

  const AgentState to = first_state(node, simulated);
  TurnData& data = data_of(node);
  data.turn = std::move(data.next);
  ActiveTurn& active = *data.turn;
  active.message = id;
  active.epoch = epoch;
  active.simulated = simulated;
  active.deadline = deadline_of(*node.spec, deadline, context_.engine);
  if (context_.table.leases().size() != 0) active.lease = context_.table.leases().of(node);
  if (simulated) {
    active.text = std::move(message.text);
  } else {
    data.conversation.ask(std::move(message.text), std::move(message.parts), node.turns, id);
    data.conversation.put_before_question(data.ended_tasks);
  }
  const events::Porch::Step step(context_.hub.porch);
  emit_start(node, id, epoch, to);
  run(node, [] { return Next::proceed; });
}

// The deadline and the budgets of a turn that has begun.
Next TurnRunner::admit(Turn turn) {
  turn.active().phase = turn.active().simulated ? Phase::read : Phase::asked;
  if (const Next next = ends_.watch_deadline(turn); next != Next::proceed) return next;
  BudgetVerdict verdict = ledger_.admit_turn(turn.node());
  if (!verdict.allowed) return ends_.end_for_budget(turn, std::move(verdict));
  if (context_.hub.changes) [[unlikely]]
    context_.hub.changes->on_turn_counted(turn.node());
  return Next::proceed;
}

void TurnRunner::emit_start(core::Node& node, MessageId id, std::uint32_t epoch, AgentState to) {
  context_.hub.emit(node, [&](Agent agent) { return TurnStarted{std::move(agent), node.turns, id}; });
  context_.hub.emit_working_state(node, to, epoch);
}

void TurnRunner::follow(core::Node& node, Next next) {
  const std::optional<Turn> turn = Turn::of(node);
  if (!turn) return;
  if (next == Next::proceed) next = run_phases(*turn);
  if (next == Next::ended) ends_.end(*turn, TurnEnd::refused);  // if it is not over: a check refused it
}

void TurnRunner::break_off(core::Node& node, Errc code, std::string_view why) noexcept {
  const std::optional<Turn> turn = Turn::of(node);
  if (!turn) return;
  ChatError error;
  error.code = code;
  try {
    error.message = why;
  } catch (const std::bad_alloc&) {  // it ends without a text
  }
  ends_.end(*turn, TurnEnd::broken_off, std::move(error));
}

// Runs phases until the turn has to wait, or something is to be delivered: then the next phase is a step of
// its own, after that.
Next TurnRunner::run_phases(Turn turn) {
  events::Porch& porch = context_.hub.porch;
  turn.active().parked = false;
  for (;;) {
    if (turn.is_over()) return Next::ended;  // by a call of the host that stays in mid-step
    if (!porch.may_go_on()) {
      if (turn.active().goes_on) return Next::wait;
      porch.append_phase(turn.node().id(), turn.number());
      turn.active().goes_on = true;
      return Next::wait;
    }
    if (!turn.is_admitted()) return Next::ended;
    if (const Next next = run_phase(turn); next != Next::proceed) return next;
  }
}

void TurnRunner::go_on(core::NodeId agent, std::uint64_t number) noexcept {
  core::Node* const node = context_.find(agent);
  if (!node) return;
  const AgentEntry entry(context_, *node);
  const std::optional<Turn> turn = Turn::of(*node);
  if (!turn || turn->number() != number) return;
  turn->active().goes_on = false;
  run(*node, [&] { return turn->is_admitted() ? Next::proceed : Next::ended; });
  context_.end_activity(*node);
}

Next TurnRunner::run_phase(Turn turn) {
  switch (turn.active().phase) {
    case Phase::begun:
      return admit(turn);
    case Phase::asked:  // context trimmed and rendered -> model call
      return turn.parks(core::Withheld::steps) ? Next::wait : model_calls_.start(turn);
    case Phase::sending:
      return model_calls_.send(turn);
    case Phase::compacting:
    case Phase::calling:  // continues in ModelCalls::on_outcome()
      return Next::wait;
    case Phase::answered:
      return leave_call(turn);
    case Phase::read:  // answer written -> tool calls parsed
      return take_answer(turn);
    case Phase::refused:
      return follow_cut_calls(turn);
    case Phase::acting:  // tool calls run in order -> results written
      if (const Next next = tool_calls_.run_next(turn); next != Next::proceed) return next;
      // A tool may have ended the turn.
      if (turn.is_over() || turn.active().phase == Phase::acting) return Next::proceed;
      return turn.active().simulated || turn.active().tool_ends_turn ? ends_.end(turn, TurnEnd::completed)
                                                                     : Next::proceed;
  }
  return Next::wait;
}

// The model's answer has arrived: it ends the turn, or has tool calls.
Next TurnRunner::take_answer(Turn turn) {
  ActiveTurn& active = turn.active();
  // A message may have been steered before the state was `processing`; none after it ends this call.
  if (!active.simulated && model_calls_.is_cut(turn)) return ask_again(turn, ReaskCause::steered, {});
  std::string text = std::exchange(active.text, {});
  active.refused.reset();
  tools::ReadAnswer answer = read_answer(turn, text);
  if (size_of(active.answer.reasoning) > context_.limits.max_answer_bytes)
    return ends_.end(turn, TurnEnd::failed,
                     {Errc::response_too_large,
                      "the reasoning of the model is longer than TreeOptions::max_answer_bytes"});
  active.result->text = answer.words;
  active.result->parse_error = std::move(answer.parse_error);
  if (answer.calls.empty()) return take_words(turn, std::move(text));
  if (auto refusal = refusal_of(turn, answer, context_.limits.max_answer_bytes))
    return ends_.end(turn, TurnEnd::failed, std::move(*refusal));
  if (!words_of_end(active.answer.finish_reason).empty()) return take_cut_calls(turn, std::move(answer));
  tool_calls_.list(turn, std::move(answer.calls), std::move(answer.words));
  active.delivered = {};
  active.phase = Phase::acting;
  return check_budget(turn);
}

// An answer with calls that did not end normally: what the model wanted is not known, and none of its calls
// begins. At a token limit the model is asked once more, and reads why in the results of the calls.
Next TurnRunner::take_cut_calls(Turn turn, tools::ReadAnswer answer) {
  ActiveTurn& active = turn.active();
  const FinishReason end = active.answer.finish_reason;
  const std::string how(words_of_end(end));
  tool_calls_.list(turn, std::move(answer.calls), std::move(answer.words));
  active.delivered = {};
  active.is_cut_off_again = std::exchange(active.was_cut_off, true);  // first: an observer may flush
  call_ends_.refuse_all(turn,
                        "not started: the answer with this call did not end normally: " + how +
                            ". None of its calls was started; write less, or make fewer calls in one answer");
  active.phase = Phase::refused;
  return Next::proceed;
}

Next TurnRunner::follow_cut_calls(Turn turn) {
  ActiveTurn& active = turn.active();
  const FinishReason end = active.answer.finish_reason;
  const std::string how(words_of_end(end));
  const bool is_first = !active.is_cut_off_again;
  mailbox::SteerBox& steers = context_.messages.steers;
  if (end != FinishReason::length || !is_first ||
      steers.reasks(turn.node().id()) >= context_.limits.max_reasks)
    return ends_.end(turn, TurnEnd::failed,
                     {Errc::answer_cut_off, "the answer has tool calls, but did not end normally: " + how +
                                                "; none of the calls was started"},
                     end);
  steers.count_reask(turn.node().id());
  context_.log(LogLevel::debug, "the model is asked again",
               {{"agent", context_.name_of(turn.node())}, {"cause", "answer_cut_off"}, {"why", how}});
  active.phase = Phase::acting;
  return check_budget(turn);
}

// waiting_llm -> processing. The state comes before the observers of the last delta: an abort by one of them
// finds no call that could be aborted (A16).
Next TurnRunner::leave_call(Turn turn) {
  if (!turn.is_open() || !turn.try_change_state(AgentState::waiting_llm, AgentState::processing))
    return Next::ended;
  turn.active().phase = Phase::read;
  model_calls_.emit_held_text(turn);
  context_.hub.emit_working_state(turn.node(), AgentState::processing, turn.epoch());
  return Next::proceed;
}

tools::ReadAnswer TurnRunner::read_answer(Turn turn, const std::string& text) const {
  const AgentSpec& spec = turn.spec();
  const ActiveTurn& active = turn.active();
  if (!spec.tools && !active.simulated) return {.words = text, .calls = {}, .parse_error = {}};
  return tools::protocol_of(active.simulated ? ToolProtocol::text : spec.tool_protocol)
      .read(tools::registry_of(spec.tools), text, active.answer.tool_calls);
}

// An answer without calls ends the turn. If it has calls that cannot be read (X30), or is not valid, the
// model is asked again.
Next TurnRunner::take_words(Turn turn, std::string text) {
  ActiveTurn& active = turn.active();
  const AgentSpec& spec = turn.spec();
  if (active.simulated) return ends_.end(turn, TurnEnd::completed);
  const std::string unreadable = active.result->parse_error;
  if (!unreadable.empty() && !ends_for_good(active.answer.finish_reason) && may_repair(turn) &&
      answers_with_calls(active) < spec.limits.tool_rounds) {
    ++active.unreadable;
    return repair(turn, ReaskCause::unreadable_calls,
                  {std::move(text), tools::tool_text_correction(unreadable)}, unreadable);
  }
  const AnswerCheck* const check = turn.data().answer_check.get();
  std::string problem = check ? check->problem_of(text) : std::string();
  if (problem.empty()) return ends_.end(turn, TurnEnd::completed);
  return take_invalid(turn, std::move(text), std::move(problem));
}

Next TurnRunner::take_invalid(Turn turn, std::string text, std::string problem) {
  const FinishReason end = turn.active().answer.finish_reason;
  if (const std::string_view words = words_of_end(end); !words.empty()) (problem += "; ") += words;
  if (!ends_for_good(end) && may_repair(turn)) {
    std::string correction = turn.data().answer_check->correction(problem);
    return repair(turn, ReaskCause::invalid_answer, {std::move(text), std::move(correction)},
                  std::move(problem));
  }
  return ends_.end(turn, TurnEnd::failed,
                   {Errc::invalid_answer,
                    "the answer does not match AgentSpec::model.response_format: " + std::move(problem)},
                   end);
}

bool TurnRunner::may_repair(Turn turn) const noexcept {
  return turn.active().repairs < turn.spec().limits.repairs &&
         context_.messages.steers.reasks(turn.node().id()) < context_.limits.max_reasks;
}

// The next call returns the refused answer to the model with the correction. Neither is kept in the history,
// which continues with the next answer.
Next TurnRunner::repair(Turn turn, ReaskCause cause, RefusedAnswer refused, std::string reason) {
  ActiveTurn& active = turn.active();
  context_.messages.steers.count_reask(turn.node().id());
  refused.at = turn.data().conversation.messages().size();
  active.refused = std::make_unique<RefusedAnswer>(std::move(refused));
  ++active.repairs;
  return ask_again(turn, cause, std::move(reason));
}

Next TurnRunner::ask_again(Turn turn, ReaskCause cause, std::string reason) {
  ActiveTurn& active = turn.active();
  DeliveredText delivered = std::exchange(active.delivered, {});
  if (cause == ReaskCause::steered)
    active.cut_off = context_.messages.acknowledgements.kept(turn.spec(), turn.node().id(), active.message,
                                                             std::move(delivered));
  active.text.clear();
  active.result->text.clear();
  active.answer = {};
  active.phase = Phase::asked;
  context_.log(LogLevel::debug, "the model is asked again",
               {{"agent", context_.name_of(turn.node())}, {"cause", to_string(cause)}, {"why", reason}});
  if (const Next next = check_budget(turn); next != Next::proceed) return next;
  context_.hub.emit(turn.node(), [&](Agent agent) {
    return ModelCallEnded{std::move(agent),      turn.number(), active.model_calls,
                          active.cut_off.size(), cause,         std::move(reason)};
  });
  return Next::proceed;
}

Next TurnRunner::check_budget(Turn turn) {
  BudgetVerdict verdict = ledger_.check(turn.node());
  return verdict.allowed ? Next::proceed : ends_.end_for_budget(turn, std::move(verdict));
}

// A turn of an agent with a MessageHandler, which has no history.
void TurnRunner::run_handler(core::Node& node, const Message& message, MessageId id, std::uint32_t epoch) {
  events::EventHub& hub = context_.hub;
  const std::uint32_t number = node.turns;
  handling_ = &node;
  handled_message_ = id;
  emit_start(node, id, epoch, AgentState::processing);
  std::shared_ptr<const TurnResult> result =
      is_admitted(context_, node, epoch) ? call_handler(node, message) : std::shared_ptr<const TurnResult>();
  handling_ = nullptr;
  if (hub.closed()) return;
  // The state comes first, as in TurnEnds.
  const bool ended = !is_admitted(context_, node, epoch) ||
                     !try_change_state(node, epoch, AgentState::processing, AgentState::idle);
  if (ended) result = ended_result(node, epoch);
  context_.listener.on_turn_over(node);
  const bool is_observed = hub.wants(detail::event_kind<TurnEnded>);
  context_.emit_turn_ended(node, number, id, result);
  // An observer of the end may have stopped the agent, and may have unsubscribed since. Not is_admitted(): it
  // may have interrupted the subtree, too, and that ends no turn of this agent.
  if (ended)
    hub.emit_idle(node, {StopCause::user, context_.end_reasons.find(node)});
  else if (is_observed)
    hub.emit_idle(node);
  else
    hub.emit_state(node, AgentState::idle);
  if (hub.porch.has_entries()) hub.porch.drain();  // what the handler has caused
}

// A verb has ended the turn of the handler.
std::shared_ptr<const TurnResult> TurnRunner::ended_result(core::Node& node,
                                                           std::uint32_t epoch) const noexcept {
  const bool is_open = core::look(node, node.load().generation()).open();
  if (is_open && core::is_interrupted(node)) turn::write_interrupted(node, epoch);
  const StopOrigin origin = is_open ? context_.end_reasons.find(node) : StopOrigin();
  return handler_result(is_open ? TurnOutcome::interrupted : TurnOutcome::stopped, Errc::none,
                        origin.reason().empty() ? "Task terminated by user" : origin.reason());
}

std::shared_ptr<const TurnResult> TurnRunner::call_handler(core::Node& node, const Message& message) {
  const core::BorrowedAgent agent = context_.hub.borrow(node);
  const events::Porch::Beginning beginning(context_.hub.porch);
  std::string why;
  const bool returned = context_.engine.guarded("MessageHandler", [&] {
    try {
      node.spec->handler(agent.get(), message);
    } catch (const std::exception& error) {
      why = error.what();
      throw;
    }
  });
  if (returned) return completed_result();
  return handler_result(TurnOutcome::failed, Errc::callback_failed, "AgentSpec::handler threw an exception",
                        why);
}

}  // namespace agentcore::detail::turn
