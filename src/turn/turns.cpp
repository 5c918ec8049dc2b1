#include "turn/turns.hpp"

#include <memory>
#include <utility>

namespace agentcore::turn {
namespace {

// Gets what a client delivers for one call. Its handle keeps the tree's core, and with it `turns`, in memory.
class CallReceiver final : public ChatSink::Receiver {
 public:
  CallReceiver(Turns& turns, Agent agent, std::uint32_t slot, std::uint64_t serial)
      : turns_(turns), agent_(std::move(agent)), slot_(slot), serial_(serial) {}
  void on_delta(std::string_view text) override { turns_.on_delta(slot_, serial_, text); }
  void on_outcome(ChatOutcome outcome) override { turns_.on_outcome(slot_, serial_, std::move(outcome)); }

 private:
  Turns& turns_;
  Agent agent_;
  std::uint32_t slot_;
  std::uint64_t serial_;
};

TurnData& data_of(core::Node& node) {
  if (!node.data) node.data = std::make_unique<TurnData>();
  return static_cast<TurnData&>(*node.data);
}

// Releases what a turn needs only while it runs.
void clear_turn(TurnData& data) {
  data.active = false;
  data.flight = 0;
  std::string().swap(data.text);
}

}  // namespace

bool Turns::is_active(const core::Node& node) noexcept {
  return node.data && static_cast<const TurnData&>(*node.data).active;
}

// Moves the agent along one edge, unless a verb was faster.
bool Turns::change(core::Node& node, std::uint32_t epoch, AgentState from, AgentState to) {
  core::Word word = node.load();
  do {
    if (word.epoch() != epoch || !word.is_open() || word.state() != from) return false;
  } while (!node.replace(word, word.with(to)));
  return true;
}

// The same for an agent that is admitted, and tells it. Below a gate that was closed meanwhile nothing is
// told but the stop (X2).
bool Turns::step_to(core::Node& node, std::uint32_t epoch, AgentState from, AgentState to) {
  if (!core::admits(node, node.load().generation(), epoch) || !change(node, epoch, from, to)) return false;
  hub_.state(node, to, StopCause::user);
  return may_go_on(node, epoch);
}

// After anything that let the host's code run: false when the tree is gone, or the turn was refused to go on;
// then it has been ended.
bool Turns::may_go_on(core::Node& node, std::uint32_t epoch) {
  if (hub_.closed()) return false;
  if (core::admits(node, node.load().generation(), epoch)) return true;
  interrupt(node);
  return false;
}

// idle -> `to`; false where a verb was faster. The turn is told to have begun even then, because its message
// has left the mailbox; and before the new state is told, so that no stop by an observer can come in between.
bool Turns::start(core::Node& node, std::uint32_t epoch, AgentState to) {
  const bool moved = change(node, epoch, AgentState::idle, to);
  hub_.tell(node, [&](Agent agent) { return TurnStarted{std::move(agent), node.turns}; });
  if (hub_.closed() || !moved) return false;
  if (node.load().epoch() == epoch) hub_.state(node, to, StopCause::user);
  return !hub_.closed() && core::admits(node, node.load().generation(), epoch);
}

void Turns::begin(core::Node& node, Message message) {
  const AgentSpec& spec =
      *node.spec;  // stays: an agent is erased, and a destroyed tree purged, outside of steps
  ++node.turns;
  if (spec.handler) return run_handler(node, spec, message);

  TurnData& data = data_of(node);
  data.active = true;
  data.epoch = node.load().epoch();
  data.flight = 0;
  data.conversation.ask(std::move(message.text));
  LlmClient* client = spec.llm ? spec.llm : limits_.llm;
  if (!start(node, data.epoch, AgentState::waiting_llm)) {
    if (!hub_.closed()) interrupt(node);
    return;
  }
  if (client) return begin_call(node, spec, *client);
  fail(node,
       ChatOutcome::failed({Errc::no_llm_client,
                            "the agent has no model: set AgentSpec::llm or handler, or TreeOptions::llm"}));
}

void Turns::begin_call(core::Node& node, const AgentSpec& spec, LlmClient& client) {
  TurnData& data = data_of(node);
  ChatRequest request;
  request.agent_id = table_.names().name_of(node, node.id());
  request.model = spec.model;
  request.messages = data.conversation.rendered(spec.system_prompt);
  request.temperature = spec.temperature;
  request.max_tokens = spec.max_tokens;

  const std::uint32_t slot = flights_.open(node, data.epoch, node.turns);
  data.flight = slot + 1;
  // Asked again now that the call can be found: a stopper either finds it and cuts it, or is seen here.
  if (!core::admits(node, node.load().generation(), data.epoch)) {
    data.flight = 0;
    flights_.close(slot);
    return interrupt(node);
  }
  const Flight& flight = flights_[slot];
  ChatSink sink(std::make_unique<CallReceiver>(*this, hub_.handle(node), slot, flight.serial));
  StopToken token = flight.stop.get_token();
  // A client that throws loses its sink, and the turn fails with `client_dropped_call`.
  engine_.guarded("LlmClient::chat",
                  [&] { client.chat(std::move(request), std::move(token), std::move(sink)); });
  if (engine_.closed()) hub_.close();
}

void Turns::run_handler(core::Node& node, const AgentSpec& spec, const Message& message) {
  const std::uint32_t epoch = node.load().epoch();
  const bool started = start(node, epoch, AgentState::processing);
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
    TurnEnded body{std::move(told), node.turns, outcome, {}, FinishReason::unknown, {}, {}};
    if (outcome == TurnOutcome::failed)
      body.error = {Errc::callback_failed, "the message handler threw an exception"};
    return body;
  });
  if (!hub_.closed() && !stopped) step_to(node, epoch, AgentState::processing, AgentState::idle);
}

// Null once the call has ended, and when the tree or the Runtime is gone: what a client still says then is
// for nobody.
Flight* Turns::find(std::uint32_t slot, std::uint64_t serial) noexcept {
  return hub_.closed() || engine_.closed() ? nullptr : flights_.find(slot, serial);
}

void Turns::on_delta(std::uint32_t slot, std::uint64_t serial, std::string_view text) {
  Flight* flight = find(slot, serial);
  if (!flight) return;
  core::Node& node = *flight->node;
  TurnData& data = data_of(node);
  const core::Stepping stepping(table_, node);
  const bool current = data.active && data.flight == slot + 1;
  if (!current || !core::admits(node, core::generation_of(flight->agent), flight->epoch)) {
    ++flight->late_deltas;
    return;
  }
  if (data.text.size() + text.size() > limits_.max_answer_bytes) {
    fail(node, ChatOutcome::failed(
                   {Errc::response_too_large, "the answer is longer than TreeOptions::max_answer_bytes"}));
    if (!hub_.closed() && flights_.find(slot, serial)) flights_.cut(slot);
    if (!hub_.closed()) owner_.schedule(node);
    return;
  }
  data.text.append(text);
  hub_.tell(node, [&](Agent agent) { return DeltaReceived{std::move(agent), node.turns, text}; });
}

void Turns::on_outcome(std::uint32_t slot, std::uint64_t serial, ChatOutcome outcome) {
  Flight* flight = find(slot, serial);
  if (!flight) return;
  core::Node& node = *flight->node;
  TurnData& data = data_of(node);
  const core::Stepping stepping(table_, node);
  const std::uint64_t turn = flight->turn;
  const std::size_t late_deltas = flight->late_deltas;
  const bool current = data.active && data.flight == slot + 1;
  const bool admitted = current && core::admits(node, core::generation_of(flight->agent), flight->epoch);
  if (current) data.flight = 0;
  flights_.close(slot);

  if (admitted && outcome.kind == ChatOutcome::Kind::completed)
    complete(node, outcome);
  else if (admitted)
    fail(node, outcome);
  else {
    if (current) interrupt(node);
    if (!hub_.closed() && (late_deltas || outcome.kind != ChatOutcome::Kind::cancelled))
      discard(node, turn, late_deltas, outcome);
  }
  if (!hub_.closed()) owner_.let_go(node);
}

// waiting_llm -> processing -> idle. Tools will run in between.
void Turns::complete(core::Node& node, const ChatOutcome& outcome) {
  TurnData& data = data_of(node);
  const std::uint32_t epoch = data.epoch;
  if (!step_to(node, epoch, AgentState::waiting_llm, AgentState::processing)) {
    if (!hub_.closed()) interrupt(node);
    return;
  }
  const std::string text = std::move(data.text);
  data.conversation.answer(text);
  clear_turn(data);
  end(node, TurnOutcome::completed, text, outcome);
  if (!hub_.closed()) step_to(node, epoch, AgentState::processing, AgentState::idle);
}

// waiting_llm -> idle (B12). A call that its client cancelled by itself counts as aborted.
void Turns::fail(core::Node& node, const ChatOutcome& outcome) {
  TurnData& data = data_of(node);
  const bool aborted = outcome.kind == ChatOutcome::Kind::cancelled;
  const std::uint32_t epoch = data.epoch;
  // First, so that an abort by an observer of the end finds no call any more (A16).
  if (!change(node, epoch, AgentState::waiting_llm, AgentState::idle)) return interrupt(node);
  data.conversation.interrupt(aborted ? Interruption::aborted : Interruption::failed);
  clear_turn(data);
  end(node, aborted ? TurnOutcome::aborted : TurnOutcome::failed, {}, outcome);
  // An observer of the end may have stopped it: then the stop is what is told next (X2).
  if (!hub_.closed() && core::admits(node, node.load().generation(), epoch))
    hub_.state(node, AgentState::idle, StopCause::user);
}

void Turns::interrupt(core::Node& node) {
  if (!is_active(node)) return;
  TurnData& data = data_of(node);
  const bool aborted = core::look(node, node.load().generation()).open();
  const std::uint32_t flight = data.flight;
  data.conversation.interrupt(aborted ? Interruption::aborted : Interruption::stopped);
  clear_turn(data);  // before the cut: an outcome that comes from within it finds the turn ended
  if (flight) flights_.cut(flight - 1);
  if (!hub_.closed())
    end(node, aborted ? TurnOutcome::aborted : TurnOutcome::stopped, {}, ChatOutcome::cancelled());
  // An abort by another thread may not have come to the loop yet, and the next turn may be faster.
  if (aborted && !hub_.closed() && node.load().state() == AgentState::idle &&
      core::look(node, node.load().generation()).open())
    hub_.state(node, AgentState::idle, StopCause::user);
}

void Turns::interrupt_before(core::Node& node, std::uint32_t epoch) {
  if (!is_active(node)) return;
  const std::uint32_t age = (epoch - data_of(node).epoch) & core::Word::epoch_mask;
  if (age != 0 && age <= core::Word::epoch_mask / 2) interrupt(node);
}

void Turns::end(core::Node& node, TurnOutcome outcome, std::string_view text, const ChatOutcome& details) {
  hub_.tell(node, [&](Agent agent) {
    return TurnEnded{std::move(agent),      node.turns,    outcome,      text,
                     details.finish_reason, details.usage, details.error};
  });
}

void Turns::discard(core::Node& node, std::uint64_t turn, std::size_t deltas, const ChatOutcome& outcome) {
  const std::string_view what = outcome.kind == ChatOutcome::Kind::completed ? "answer"
                                : outcome.kind == ChatOutcome::Kind::failed  ? "failure"
                                                                             : "text";
  engine_.log(LogLevel::debug, "late result discarded",
              {{"agent", table_.names().name_of(node, node.id())}, {"what", what}});
  hub_.tell(node, [&](Agent agent) { return Discarded{std::move(agent), turn, deltas, what}; });
}

void Turns::abandon(std::uint32_t slot) {
  flights_[slot].node->abandoned = true;
  flights_.close(slot);
}

}  // namespace agentcore::turn
