// The steps of a turn, and its ends.
#include "turn/turns.hpp"

#include "tools/protocol.hpp"
#include "tools/text_protocol.hpp"

#include <utility>

namespace agentcore::turn {
namespace {

std::size_t size_of(const std::vector<ReasoningBlock>& blocks) noexcept {
  std::size_t bytes = 0;
  for (const ReasoningBlock& block : blocks) bytes += block.data.size();
  return bytes;
}

std::size_t size_of(const std::vector<ToolCall>& calls) noexcept {
  std::size_t size = 0;
  for (const ToolCall& call : calls) size += call.id.size() + call.name.size() + call.arguments.size();
  return size;
}

// The question, behind what the model has still to be told. Where memory is short a later turn tells it.
std::string with_ended_tasks(TurnData& data, std::string question) noexcept {
  if (data.ended_tasks.empty()) return question;
  try {
    std::string text = "Background tasks that have ended:\n" + data.ended_tasks;
    if (!question.empty()) text.append("\n").append(question);
    data.ended_tasks.clear();
    return text;
  } catch (const std::bad_alloc&) {
    return question;
  }
}

// The end of a turn matters more than its words.
void describe(InteractionResult& result, std::string_view error) noexcept {
  try {
    result.error = error;
  } catch (const std::bad_alloc&) {
    result.error.clear();
  }
}

}  // namespace

// Moves the agent along one edge, unless a verb was faster.
bool Turns::change(core::Node& node, std::uint32_t epoch, AgentState from, AgentState to) {
  core::Word word = node.load();
  do {
    if (word.epoch() != epoch || !word.is_open() || word.state() != from) return false;
  } while (!node.replace(word, word.with(to)));
  return true;
}

// The same for an agent that is admitted, and tells it. Below a gate that was closed meanwhile nothing is
// told but the stop (X2). False: the turn has ended.
bool Turns::step_to(core::Node& node, std::uint32_t epoch, AgentState from, AgentState to) {
  if (!core::admits(node, node.load().generation(), epoch) || !change(node, epoch, from, to)) {
    if (!hub_.closed()) interrupt(node);
    return false;
  }
  hub_.state(node, to, StopCause::user);
  return may_go_on(node, epoch);
}

// After anything that let the host's code run: false when the tree is gone, or the turn was refused to go on;
// then it has been ended.
bool Turns::may_go_on(core::Node& node, std::uint32_t epoch) noexcept {
  if (engine_.closed()) hub_.close();
  if (hub_.closed()) return false;
  if (core::admits(node, node.load().generation(), epoch)) return true;
  interrupt(node);
  return false;
}

// idle -> `to`; false where a verb was faster. The turn is told to have begun even then, because its message
// has left the mailbox; and before the new state is told, so that no stop by an observer can come in between.
bool Turns::move_from_idle(core::Node& node, std::uint32_t epoch, AgentState to) {
  const bool moved = change(node, epoch, AgentState::idle, to);
  hub_.tell(node, [&](Agent agent) { return TurnStarted{std::move(agent), node.turns}; });
  if (hub_.closed() || !moved) return false;
  if (node.load().epoch() == epoch) hub_.state(node, to, StopCause::user);
  return !hub_.closed() && core::admits(node, node.load().generation(), epoch);
}

void Turns::prepare(core::Node& node) {
  if (node.spec->handler) return;
  TurnData& data = data_of(node);
  if (!data.next) data.next = std::make_unique<ActiveTurn>();
  data.conversation.make_room();
}

void Turns::begin(core::Node& node, Message message) {
  const AgentSpec& spec =
      *node.spec;  // stays: an agent is erased, and a destroyed tree purged, outside of steps
  ++node.turns;
  if (spec.handler && !message.simulated) return run_handler(node, spec, message);

  TurnData& data = data_of(node);
  data.turn = data.next ? std::move(data.next) : std::make_unique<ActiveTurn>();
  ActiveTurn& turn = *data.turn;
  turn.epoch = node.load().epoch();
  turn.simulated = message.simulated;
  if (message.simulated) {
    turn.phase = Phase::answered;
    turn.text = std::move(message.text);
  } else {
    data.conversation.ask(with_ended_tasks(data, std::move(message.text)), std::move(message.parts));
  }
  const AgentState to = message.simulated ? AgentState::processing : AgentState::waiting_llm;
  if (!move_from_idle(node, turn.epoch, to)) {
    if (!hub_.closed()) interrupt(node);
    return;
  }
  attempt(node, [&] {
    if (afford_turn(node)) advance(node);
  });
}

// Goes on from where the turn stands to where it has to wait. A client, or a tool, that is done at once comes
// here again from within a step; the loop below then goes on when that step returns.
void Turns::advance(core::Node& node) {
  if (!is_active(node)) return;  // an observer of the last step's end has made it end
  if (std::exchange(active_turn(node)->advancing, true)) return;
  while (step(node)) {
  }
  if (!hub_.closed() && is_active(node)) active_turn(node)->advancing = false;
}

bool Turns::step(core::Node& node) {
  switch (active_turn(node)->phase) {
    case Phase::asked:  // context trimmed and rendered -> model call
      return call_model(node);
    case Phase::calling:  // goes on in on_outcome()
      return false;
    case Phase::answered:  // answer written -> tool calls parsed
      return take_answer(node);
    case Phase::acting:  // tool calls run in order -> results written
      return run_calls(node);
  }
  return false;
}

// The model's answer is there: it ends the turn, or asks for tools.
bool Turns::take_answer(core::Node& node) {
  TurnData& data = data_of(node);
  const AgentSpec& spec = *node.spec;
  const std::uint32_t epoch = data.turn->epoch;
  if (!data.turn->simulated &&
      (!tell_held_words(node) || !step_to(node, epoch, AgentState::waiting_llm, AgentState::processing)))
    return false;
  ActiveTurn& turn = *data.turn;
  std::string text = std::exchange(turn.text, {});
  turn.unread.clear();
  tools::ReadAnswer answer;
  if (spec.tools || turn.simulated)
    answer = tools::protocol_of(turn.simulated ? ToolProtocol::text : spec.tool_protocol)
                 .read(tools::registry_of(spec.tools), text, turn.answer.tool_calls);
  else
    answer.words = text;
  if (size_of(turn.answer.reasoning) > limits_.max_answer_bytes) {
    fail_acting(node, {Errc::response_too_large,
                       "what the model thought is longer than TreeOptions::max_answer_bytes"});
    return false;
  }
  turn.result->response = answer.words;
  turn.result->parse_error = std::move(answer.parse_error);
  const std::uint32_t asked = turn.tool_turns + turn.repairs;
  if (answer.calls.empty()) {
    const bool repairable = !turn.result->parse_error.empty() && !turn.simulated && spec.repair_tool_calls;
    if (repairable && turn.repairs == 0 && asked < spec.max_tool_turns)
      return ask_again(node, std::move(text));
    complete(node);
    return false;
  }
  if (asked >= spec.max_tool_turns) {
    fail_acting(node,
                {Errc::tool_turn_limit, "executed " + std::to_string(asked) +
                                            " consecutive tool_call turns without a non-tool response"});
    return false;
  }
  if (answer.calls.size() > tools::max_calls_per_answer ||
      size_of(turn.answer.tool_calls) > limits_.max_answer_bytes) {
    fail_acting(node, {Errc::response_too_large,
                       "the answer has more than 64 tool calls, or is longer than "
                       "TreeOptions::max_answer_bytes"});
    return false;
  }
  list_calls(node, std::move(answer.calls), std::move(answer.words));
  turn.phase = Phase::acting;
  return within_budget(node);
}

// waiting_llm -> processing -> idle.
void Turns::complete(core::Node& node) {
  TurnData& data = data_of(node);
  const std::uint32_t epoch = data.turn->epoch;
  const FinishReason reason = data.turn->answer.finish_reason;
  if (!data.turn->simulated)
    data.conversation.answer(data.turn->result->response, std::move(data.turn->answer.reasoning));
  auto result = leave(node);
  result->success = true;
  tell_end(node, TurnOutcome::completed, reason, {}, std::move(result));
  if (hub_.closed() || !step_to(node, epoch, AgentState::processing, AgentState::idle)) return;
  static_cast<void>(within_budget(node));
}

// waiting_llm -> idle (B12). A call that its client cancelled by itself counts as aborted.
void Turns::fail(core::Node& node, ChatOutcome outcome) {
  TurnData& data = data_of(node);
  const bool aborted = outcome.kind == ChatOutcome::Kind::cancelled;
  const std::uint32_t epoch = data.turn->epoch;
  // First, so that an abort by an observer of the end finds no call any more (A16).
  if (!change(node, epoch, AgentState::waiting_llm, AgentState::idle)) return interrupt(node);
  data.conversation.interrupt(aborted ? Interruption::aborted : Interruption::failed);
  auto result = leave(node);
  describe(*result, outcome.error.message.empty() ? "LLM call failed" : outcome.error.message);
  if (aborted) outcome.error = {};  // an outcome beside failure
  tell_end(node, aborted ? TurnOutcome::aborted : TurnOutcome::failed, outcome.finish_reason,
           std::move(outcome.error), std::move(result));
  // An observer of the end may have stopped it: then the stop is what is told next (X2).
  if (!hub_.closed() && core::admits(node, node.load().generation(), epoch))
    hub_.state(node, AgentState::idle, StopCause::user);
}

// The same in `processing`: the answer is refused, what was done before it stays.
void Turns::fail_acting(core::Node& node, Error error) {
  TurnData& data = data_of(node);
  const std::uint32_t epoch = data.turn->epoch;
  const bool simulated = data.turn->simulated;
  if (!simulated) data.conversation.interrupt(Interruption::failed);
  auto result = leave(node);
  describe(*result, error.message);
  tell_end(node, TurnOutcome::failed, FinishReason::tool_calls, std::move(error), std::move(result));
  if (!hub_.closed()) step_to(node, epoch, AgentState::processing, AgentState::idle);
}

void Turns::interrupt(core::Node& node) noexcept {
  if (!is_active(node)) return;
  const bool aborted = core::look(node, node.load().generation()).open();
  end_early(node, aborted ? TurnOutcome::aborted : TurnOutcome::stopped, Errc::none, {});
  // An abort by another thread may not have come to the loop yet, and the next turn may be faster.
  if (aborted && !hub_.closed() && node.load().state() == AgentState::idle &&
      core::look(node, node.load().generation()).open())
    hub_.state(node, AgentState::idle, StopCause::user);
}

// A part of the turn threw: the turn has failed, the agent goes on.
void Turns::break_off(core::Node& node, Errc code, std::string_view why) noexcept {
  if (engine_.closed()) hub_.close();
  if (hub_.closed() || !is_active(node)) return;
  log(LogLevel::error, "a turn was broken off", {{"agent", name_of(node)}, {"why", why}});
  if (hub_.closed() || !is_active(node)) return;
  const std::uint32_t epoch = active_turn(node)->epoch;
  const AgentState from = node.load().state();
  const bool goes_on = core::admits(node, node.load().generation(), epoch) && can_process(from) &&
                       (from == AgentState::idle || change(node, epoch, from, AgentState::idle));
  if (!goes_on) return interrupt(node);
  end_early(node, TurnOutcome::failed, code, why);
  if (hub_.closed()) return;
  if (core::admits(node, node.load().generation(), epoch))
    hub_.state(node, AgentState::idle, StopCause::user);
  if (!hub_.closed()) owner_.schedule(node);
}

// Ends a turn before its answer is there. Where memory is short the end comes all the same, with fewer words.
void Turns::end_early(core::Node& node, TurnOutcome outcome, Errc code, std::string_view why) noexcept {
  TurnData& data = static_cast<TurnData&>(*node.data);
  const std::uint64_t number = node.turns;
  if (!data.turn->simulated)
    data.conversation.interrupt(outcome == TurnOutcome::aborted   ? Interruption::aborted
                                : outcome == TurnOutcome::stopped ? Interruption::stopped
                                                                  : Interruption::failed);
  // Before the cut: what comes from within it finds the turn ended.
  const std::unique_ptr<ActiveTurn> turn = std::exchange(data.turn, nullptr);
  const auto result = turn->result;
  if (turn->flight) {
    data.ending = turn.get();
    flights_.cut(turn->flight - 1);
    data.ending = nullptr;
  }
  cancel_calls(node, number, turn->calls, *result);
  if (hub_.closed()) return;
  // After the cut: what was used has to be counted, and among thousands who stop the wire would wait for it.
  settle(node, *turn);
  if (hub_.closed()) return;
  result->error = std::move(turn->stop_reason);
  result->response.clear();
  Error error{code};
  // The wording is fixed by requirements I4, I5 and I10.
  if (outcome == TurnOutcome::stopped)
    log(LogLevel::info, "Agent execution was cancelled", {{"agent", name_of(node)}});
  engine_.guarded("a turn's end", [&] {
    error.message = why;
    if (outcome == TurnOutcome::stopped) {
      InteractionStep step;
      step.type = "terminated";
      step.message = "Task was terminated by user";
      result->steps.push_back(std::move(step));
    }
    if (result->error.empty())
      result->error = outcome == TurnOutcome::aborted   ? "the call was aborted"
                      : outcome == TurnOutcome::stopped ? "Task terminated by user"
                                                        : why;
  });
  tell_end(node, outcome, FinishReason::unknown, std::move(error), result);
}

void Turns::interrupt_before(core::Node& node, std::uint32_t epoch) noexcept {
  const ActiveTurn* const turn = active_turn(node);
  if (!turn) return;
  const std::uint32_t age = (epoch - turn->epoch) & core::Word::epoch_mask;
  if (age != 0 && age <= core::Word::epoch_mask / 2) interrupt(node);
}

void Turns::stop(core::Node& node) noexcept {
  interrupt(node);
  if (!hub_.closed() && node.flights != 0) cancel_tasks(node);
}

// Takes what the turn did out of it; from then on none is under way.
std::shared_ptr<InteractionResult> Turns::leave(core::Node& node) noexcept {
  TurnData& data = static_cast<TurnData&>(*node.data);
  const std::unique_ptr<ActiveTurn> turn = std::exchange(data.turn, nullptr);
  return std::move(turn->result);
}

void Turns::tell_end(core::Node& node, TurnOutcome outcome, FinishReason reason, Error error,
                     std::shared_ptr<InteractionResult> result) noexcept {
  hub_.tell(node, [&](Agent agent) {
    const std::string_view text =
        outcome == TurnOutcome::completed ? std::string_view(result->response) : std::string_view();
    return TurnEnded{std::move(agent), node.turns,       outcome, text,        reason,
                     result->usage,    std::move(error), result,  result->cost};
  });
}

void Turns::run_handler(core::Node& node, const AgentSpec& spec, const Message& message) {
  const std::uint32_t epoch = node.load().epoch();
  const bool started = move_from_idle(node, epoch, AgentState::processing);
  if (hub_.closed()) return;
  TurnOutcome outcome = TurnOutcome::completed;
  const core::BorrowedAgent agent = hub_.borrow(node);
  if (started && !engine_.guarded("MessageHandler", [&] { spec.handler(agent.get(), message); }))
    outcome = TurnOutcome::failed;
  if (engine_.closed()) hub_.close();
  if (hub_.closed()) return;
  const bool stopped = !started || !core::admits(node, node.load().generation(), epoch);
  if (stopped) outcome = TurnOutcome::stopped;
  hub_.tell(node, [&](Agent told) {
    TurnEnded body{std::move(told), node.turns, outcome, {}, FinishReason::unknown, {}, {}, nullptr, {}};
    if (outcome == TurnOutcome::failed)
      body.error = {Errc::callback_failed, "the message handler threw an exception"};
    return body;
  });
  if (!hub_.closed() && !stopped) step_to(node, epoch, AgentState::processing, AgentState::idle);
}

// For the log: empty where memory is short.
std::string Turns::name_of(const core::Node& node) const noexcept {
  try {
    return table_.names().name_of(node, node.id());
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void Turns::log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) noexcept {
  // The host's sink may do anything, too.
  engine_.log(level, message, fields);
  if (engine_.closed()) hub_.close();
}

void Turns::discard(core::Node& node, std::uint64_t turn, std::size_t deltas,
                    std::string_view what) noexcept {
  log(LogLevel::debug, "late result discarded", {{"agent", name_of(node)}, {"what", what}});
  hub_.tell(node, [&](Agent agent) { return Discarded{std::move(agent), turn, deltas, what}; });
}

void Turns::clear() {
  questions_.clear();
  for (std::uint32_t slot = 0; slot < flights_.slots(); ++slot)
    if (flights_[slot].info) flights_[slot].info->timer = Timer();
}

void Turns::abandon(std::uint32_t slot) noexcept {
  core::Node& node = *flights_[slot].node;
  const Flight& flight = flights_[slot];
  const std::string_view what = flight.kind == Flight::Kind::model_call  ? "model call"
                                : flight.kind == Flight::Kind::tool_call ? "tool call"
                                                                         : "background task";
  const std::unique_ptr<FlightInfo> info = std::move(flights_[slot].info);
  const std::uint64_t turn = flight.turn;
  node.abandoned = true;
  flights_.close(slot);  // first: whoever hears of it may make it let go
  log(LogLevel::warning, "something of a stopped agent did not let go in time and was given up",
      {{"agent", name_of(node)},
       {"what", what},
       {"tool", info ? std::string_view(info->tool) : std::string_view()}});
  hub_.tell(node, [&](Agent agent) {
    return Abandoned{std::move(agent), turn, what, info ? info->tool : std::string(),
                     info ? info->id : std::string()};
  });
}

}  // namespace agentcore::turn
