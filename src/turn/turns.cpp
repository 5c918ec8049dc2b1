// The steps of a turn. Its ends are in turn_ends.cpp.
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

// The question, preceded by the ends of background tasks that the model has not read yet. If an allocation
// fails, they wait for a later turn.
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
                       "the reasoning of the model is longer than TreeOptions::max_answer_bytes"});
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
                       "the answer has more than " + std::to_string(tools::max_calls_per_answer) +
                           " tool calls, or is longer than TreeOptions::max_answer_bytes"});
    return false;
  }
  list_calls(node, std::move(answer.calls), std::move(answer.words));
  turn.phase = Phase::acting;
  return within_budget(node);
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
