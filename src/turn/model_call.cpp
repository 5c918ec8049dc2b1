// A turn's model calls: what is sent, and what comes back.
#include "core/validate.hpp"
#include "turn/turns.hpp"

#include <memory>
#include <utility>

namespace agentcore::turn {
namespace {

// Gets what a client delivers for one call. Its handle keeps the tree's core, and with it `turns`, in memory.
class CallReceiver final : public ChatSink::Receiver {
 public:
  CallReceiver(Turns& turns, Agent agent) : turns_(turns), agent_(std::move(agent)) {}
  // Before anything is delivered.
  void bind(std::uint32_t slot, std::uint64_t serial) noexcept {
    slot_ = slot;
    serial_ = serial;
  }
  void on_delta(std::string_view text) override { turns_.on_delta(slot_, serial_, text); }
  void on_reasoning(std::string_view text) override { turns_.on_reasoning(slot_, serial_, text); }
  void on_outcome(ChatOutcome outcome) override { turns_.on_outcome(slot_, serial_, std::move(outcome)); }

 private:
  Turns& turns_;
  Agent agent_;
  std::uint32_t slot_ = 0;
  std::uint64_t serial_ = 0;
};

// Whether the model writes its calls as blocks of its text, which observers of its deltas do not get.
bool writes_blocks(const AgentSpec& spec) noexcept {
  return spec.tools && spec.tool_protocol == ToolProtocol::text;
}

}  // namespace

bool Turns::call_model(core::Node& node) {
  const AgentSpec& spec = *node.spec;
  LlmClient* const client = spec.llm ? spec.llm : limits_.llm;
  if (!client) {
    fail(node,
         ChatOutcome::failed({Errc::no_llm_client,
                              "the agent has no model: set AgentSpec::llm or handler, or TreeOptions::llm"}));
    return false;
  }
  const std::uint32_t epoch = active_turn(node)->epoch;
  if (node.load().state() == AgentState::processing &&
      !step_to(node, epoch, AgentState::processing, AgentState::waiting_llm))
    return false;
  ChatRequest request = request_for(node);
  if (!reserve(node, request)) return false;
  if (engine_.closed()) hub_.close();  // a TokenCounter is the host's code
  if (hub_.closed()) return false;
  send(node, *client, std::move(request));
  return !hub_.closed() && is_active(node) && active_turn(node)->phase == Phase::answered;
}

// The answer has calls that cannot be read: the model gets the reason and is asked once more (X30). Neither
// that answer nor the reason is kept in the history, which goes on with the next answer.
bool Turns::ask_again(core::Node& node, std::string text) {
  ActiveTurn& turn = *active_turn(node);
  const std::uint32_t epoch = turn.epoch;
  turn.unread = std::move(text);
  ++turn.repairs;
  turn.result->response.clear();
  turn.answer = {};
  turn.phase = Phase::asked;
  log(LogLevel::debug, "tool calls could not be read, the model is asked again",
      {{"agent", table_.names().name_of(node, node.id())}, {"why", std::string(turn.result->parse_error)}});
  return may_go_on(node, epoch) && within_budget(node);
}

ChatRequest Turns::request_for(core::Node& node) {
  const AgentSpec& spec = *node.spec;
  ChatRequest request;
  request.agent_id = table_.names().name_of(node, node.id());
  request.tree = table_.tree();
  request.model = spec.model;
  request.temperature = spec.temperature;
  request.max_tokens = spec.max_tokens;
  request.reasoning_effort = spec.reasoning_effort;
  request.response_format = spec.response_format;
  // Only at first: a model that must call a tool each time would never come to an end.
  if (active_turn(node)->tool_turns == 0) request.tool_choice = spec.tool_choice;
  write_context(node, request);
  return request;
}

void Turns::send(core::Node& node, LlmClient& client, ChatRequest request) {
  ActiveTurn& turn = *active_turn(node);
  turn.phase = Phase::calling;
  turn.text.clear();
  turn.words = {};
  // First what needs memory.
  turn.answer = ChatOutcome::cancelled();
  auto receiver = std::make_unique<CallReceiver>(*this, hub_.handle(node));
  const std::uint32_t slot = flights_.open(node, Flight::Kind::model_call, turn.epoch, node.turns);
  turn.flight = slot + 1;
  // Asked again now that the call can be found: a stopper either finds it and cuts it, or is seen here.
  if (!core::admits(node, node.load().generation(), turn.epoch)) {
    turn.flight = 0;
    flights_.close(slot);
    return interrupt(node);  // which releases what was reserved: the call was never sent
  }
  turn.uncounted = true;
  const Flight& flight = flights_[slot];
  receiver->bind(slot, flight.serial);
  ChatSink sink(std::move(receiver));
  StopToken token = flight.stop.get_token();
  // A client that throws loses its sink, and the turn fails with `client_dropped_call`.
  engine_.guarded("LlmClient::chat",
                  [&] { client.chat(std::move(request), std::move(token), std::move(sink)); });
  if (engine_.closed()) hub_.close();
}

// Null once the call has ended, and when the tree or the Runtime is gone: what a client still says then is
// for nobody.
Flight* Turns::find(std::uint32_t slot, std::uint64_t serial) noexcept {
  return hub_.closed() || engine_.closed() ? nullptr : flights_.find(slot, serial);
}

// Whether the turn still listens to that call. What comes too late is counted.
bool Turns::hears(Flight& flight, std::uint32_t slot) noexcept {
  const ActiveTurn* const turn = active_turn(*flight.node);
  const bool current = turn && turn->flight == slot + 1;
  if (current && core::admits(*flight.node, core::generation_of(flight.agent), flight.epoch)) return true;
  ++flight.late_deltas;
  return false;
}

void Turns::on_delta(std::uint32_t slot, std::uint64_t serial, std::string_view text) {
  Flight* flight = find(slot, serial);
  if (!flight) return;
  core::Node& node = *flight->node;
  const Entered entered(*this, node);
  if (!hears(*flight, slot)) return;
  ActiveTurn* const turn = active_turn(node);
  if (turn->text.size() + text.size() > limits_.max_answer_bytes) {
    settle(node, *turn);
    fail(node, ChatOutcome::failed(
                   {Errc::response_too_large, "the answer is longer than TreeOptions::max_answer_bytes"}));
    if (!hub_.closed() && flights_.find(slot, serial)) flights_.cut(slot);
    if (!hub_.closed()) owner_.schedule(node);
    return;
  }
  std::string words;
  const bool hides = writes_blocks(*node.spec);
  attempt(node, [&] {
    turn->text.append(text);
    if (hides) words = turn->words.pass(text);
  });
  if (active_turn(node) != turn) return;
  if (!hides) return tell_delta(node, text);
  if (!words.empty()) tell_delta(node, words);
}

void Turns::tell_delta(core::Node& node, std::string_view text) {
  hub_.tell(node, [&](Agent agent) { return DeltaReceived{std::move(agent), node.turns, text}; });
}

// The answer has ended: what looked like the beginning of a block is text, and observers get it now. False:
// the turn has ended.
bool Turns::tell_held_words(core::Node& node) {
  ActiveTurn& turn = *active_turn(node);
  const std::uint32_t epoch = turn.epoch;
  const std::string words = turn.words.finish();
  if (words.empty()) return true;
  tell_delta(node, words);
  return may_go_on(node, epoch);
}

void Turns::on_reasoning(std::uint32_t slot, std::uint64_t serial, std::string_view text) {
  Flight* flight = find(slot, serial);
  if (!flight) return;
  core::Node& node = *flight->node;
  const Entered entered(*this, node);
  if (!hears(*flight, slot)) return;
  hub_.tell(node, [&](Agent agent) { return ReasoningReceived{std::move(agent), node.turns, text}; });
}

void Turns::on_outcome(std::uint32_t slot, std::uint64_t serial, ChatOutcome outcome) {
  Flight* flight = find(slot, serial);
  if (!flight) return;
  core::Node& node = *flight->node;
  const Entered entered(*this, node);
  TurnData& data = data_of(node);
  // The turn that the call belongs to: under way, or being ended, if the outcome arrives during the cut.
  ActiveTurn* turn = data.turn ? data.turn.get() : data.ending;
  if (turn && turn->flight != slot + 1) turn = nullptr;
  const std::uint64_t number = flight->turn;
  const std::size_t late_deltas = flight->late_deltas;
  const bool current = turn && turn == data.turn.get();
  const bool admitted = current && core::admits(node, core::generation_of(flight->agent), flight->epoch);
  const ChatOutcome::Kind kind = outcome.kind;
  // A cost that is not a number would switch every budget off.
  if (outcome.cost && !core::is_amount(*outcome.cost)) outcome.cost.reset();
  if (turn) {
    turn->flight = 0;
    turn->answer = std::move(outcome);
  }
  flights_.close(slot);

  if (admitted) {
    settle(node, *turn);
    attempt(node, [&] {
      if (kind != ChatOutcome::Kind::completed) return fail(node, std::move(turn->answer));
      turn->phase = Phase::answered;
      advance(node);
    });
  } else {
    if (current) interrupt(node);
    if (!hub_.closed() && (late_deltas || kind != ChatOutcome::Kind::cancelled))
      discard(node, number, late_deltas,
              kind == ChatOutcome::Kind::completed ? "answer"
              : kind == ChatOutcome::Kind::failed  ? "failure"
                                                   : "text");
  }
  if (!hub_.closed()) owner_.let_go(node);
}

}  // namespace agentcore::turn
