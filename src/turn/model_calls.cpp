#include "turn/model_calls.hpp"

#include "core/code_points.hpp"
#include "core/validate.hpp"
#include "loop/engine.hpp"
#include "turn/compactor.hpp"
#include "turn/context_window.hpp"
#include "turn/lingering_calls.hpp"
#include "turn/request_ends.hpp"
#include "turn/turn_ends.hpp"
#include "turn/turn_runner.hpp"
#include "turn/usage_accounting.hpp"

#include <memory>
#include <utility>

namespace agentcore::detail::turn {
namespace {

// Receives what a client delivers for one call. Its handle keeps the tree's core, and with it `calls`, in
// memory.
class CallReceiver final : public ChatSink::Receiver {
 public:
  CallReceiver(ModelCalls& calls, loop::Engine& engine, Agent agent)
      : calls_(calls), engine_(engine), agent_(std::move(agent)) {}
  // To be called before anything is delivered.
  void bind(OperationId id) noexcept { id_ = id; }
  void on_delta(std::string_view text) override {
    if (!engine_.refuses_thread("ChatSink::delta")) calls_.on_delta(id_, text);
  }
  void on_reasoning(std::string_view text) override {
    if (!engine_.refuses_thread("ChatSink::reasoning")) calls_.on_reasoning(id_, text);
  }
  // On another thread than that of the loop, the call fails on the loop thread.
  void on_outcome(ChatOutcome outcome) override {
    if (!engine_.refuses_thread("ChatSink::finish")) return calls_.on_outcome(id_, std::move(outcome));
    engine_.post([&calls = calls_, keep = agent_, id = id_] {
      calls.on_outcome(id, ChatOutcome::failed(ChatError::from(loop::wrong_thread("ChatSink::finish"))));
    });
  }

 private:
  ModelCalls& calls_;
  loop::Engine& engine_;
  Agent agent_;
  OperationId id_;
};

// True if the model writes its calls as blocks of its text, which the deltas for observers leave out.
bool writes_blocks(const AgentSpec& spec) noexcept {
  return spec.tools && spec.tool_protocol == ToolProtocol::text;
}

bool keeps_partial_answers(const AgentSpec& spec) noexcept {
  return spec.partial_answers != PartialAnswers::drop;
}

// To be called before the text is emitted.
void keep_delivered(Turn turn, std::string_view text) {
  if (keeps_partial_answers(turn.spec())) turn.active().delivered.text.append(text);
}

// A cancelled call without deltas after the stop is no late result.
std::optional<LateAnswer> late_answer(std::size_t deltas, ChatOutcome::Kind kind,
                                      DiscardReason reason) noexcept {
  if (deltas == 0 && kind == ChatOutcome::Kind::cancelled) return std::nullopt;
  return LateAnswer{deltas,
                    kind == ChatOutcome::Kind::completed ? LateResult::answer
                    : kind == ChatOutcome::Kind::failed  ? LateResult::failure
                                                         : LateResult::text,
                    reason};
}

}  // namespace

Next ModelCalls::start(Turn turn) {
  const AgentSpec& spec = turn.spec();
  LlmClient* const client = spec.llm ? spec.llm.get() : context_.limits.llm;
  if (!client)
    return ends_.end(
        turn, TurnEnd::failed_call,
        {Errc::no_llm_client, "the agent has no model: set AgentSpec::llm or handler, or TreeOptions::llm"},
        FinishReason::unknown);
  if (turn.node().load().state() == AgentState::processing &&
      !turn.change_state(context_.hub, AgentState::processing, AgentState::waiting_llm))
    return Next::ended;
  // What observers do now, for example steer one more message, is a part of the request.
  if (context_.hub.porch.has_deliveries()) return Next::proceed;
  if (write_steered(turn)) return Next::proceed;
  ChatRequest request = new_request(turn);
  if (compactor_.write(turn, request))
    return prepare(turn, Compactor::client_of(turn, *client), std::move(request));
  if (!turn.is_admitted()) return Next::ended;  // a TokenCounter may have ended the turn
  request = request_for(turn);
  if (!turn.is_admitted()) return Next::ended;
  BudgetVerdict verdict = usage_.reserve(turn, request);
  if (!turn.is_admitted()) return Next::ended;
  if (!verdict.allowed) return ends_.end_for_budget(turn, std::move(verdict));
  return prepare(turn, *client, std::move(request));
}

// The first of the messages that were steered into the turn: it is out of the box only when it is in the
// history. False: there is none.
bool ModelCalls::write_steered(Turn turn) {
  const Messages& messages = context_.messages;
  Conversation& conversation = turn.data().conversation;
  const core::NodeId agent = turn.node().id();
  while (!messages.steers.empty()) {
    const std::uint32_t number = messages.steers.next(agent);
    if (!number) return false;
    mailbox::Cell& cell = messages.pool[number];
    conversation.make_room(2, cell.parts());
    const MessageId id = messages.pool.id_in(cell);
    if (!mailbox::MessagePool::begin(cell)) {  // an interrupt of that message came before
      messages.steers.drop(agent, id);
      continue;
    }
    messages.steers.take(agent, number);
    Message message = cell.take_message();
    messages.pool.end_id(cell);
    messages.pool.give_back(cell);
    if (std::string part = std::exchange(turn.active().cut_off, {}); !part.empty())
      conversation.cut_off(std::move(part));
    conversation.steer(std::move(message.text), std::move(message.parts));
    context_.hub.emit(turn.node(), [&](Agent handle) {
      return Steered{.agent = std::move(handle),
                     .turn = turn.number(),
                     .id = id,
                     .fate = SteerFate::delivered,
                     .call = turn.active().model_calls + 1};
    });
    return true;
  }
  return false;
}

bool ModelCalls::is_cut(Turn turn) const noexcept {
  return !turn.active().summary && context_.messages.steers.cuts(turn.node().id());
}

void ModelCalls::finish_cut(core::Node& node) noexcept {
  const std::optional<Turn> turn = Turn::of(node);
  if (!turn || turn->active().phase != Phase::calling || !turn->is_admitted() || !is_cut(*turn)) return;
  const AgentEntry entry(context_, node);
  const OperationId id = turn->active().operation;
  const std::uint64_t number = turn->number();
  context_.operations.cut(id);  // its outcome may arrive at once: see on_outcome()
  if (!turn->is_over() && turn->active().operation == id && turn->is_admitted() && is_cut(*turn))
    runner_.run(node, [&] {
      give_up_call(*turn, DiscardReason::steered);
      if (!turn->is_admitted()) return Next::ended;
      return runner_.ask_again(*turn, ReaskCause::steered, {});
    });
  lingering_.give_up_unwatched(node, number);
  context_.end_activity(node);
}

// The turn goes on without the outcome of its model call. The caller calls give_up_unwatched() when it has
// reported why.
void ModelCalls::give_up_call(Turn turn, DiscardReason late) noexcept {
  usage_.settle(turn.node(), turn.active());
  if (turn.is_over()) return;
  const OperationId id = std::exchange(turn.active().operation, {});
  context_.operations[id].end(late);
  lingering_.watch(id);
}

// What all requests of the turn have.
ChatRequest ModelCalls::new_request(Turn turn) {
  ChatRequest request;
  request.agent_id = context_.table.names().name_of(turn.node(), turn.node().id());
  request.tree = context_.table.tree();
  request.salt = context_.own_identity();
  request.model = turn.spec().model.name;
  request.stream = turn.spec().model.stream;
  if (const auto& deadline = turn.active().deadline) request.deadline = deadline->when;
  return request;
}

ChatRequest ModelCalls::request_for(Turn turn) {
  const AgentSpec& spec = turn.spec();
  ChatRequest request = new_request(turn);
  request.temperature = spec.model.temperature;
  request.top_p = spec.model.top_p;
  request.stop_sequences = spec.model.stop_sequences;
  request.parallel_tool_calls = spec.model.parallel_tool_calls;
  request.max_tokens = spec.model.max_tokens;
  request.reasoning_effort = spec.model.reasoning_effort;
  request.response_format = spec.model.response_format;
  // Only in the first call: a model that must call a tool each time would never end its turn.
  if (turn.active().tool_turns == 0) request.tool_choice = spec.model.tool_choice;
  write_context(context_, turn, request);
  return request;
}

// Registers the call: from here on a verb finds it. It is sent as a phase of its own, which asks the gates.
Next ModelCalls::prepare(Turn turn, LlmClient& client, ChatRequest request) {
  ActiveTurn& active = turn.active();
  const bool summarises = active.summary != nullptr;
  active.text.clear();
  active.filter = {};
  active.answer = {};
  // Allocations come first.
  SentContext& sent = turn.data().sent;
  sent.request_ends.reserve(sent.request_ends.size() + 1);
  if (keeps_partial_answers(turn.spec())) {
    turn.data().conversation.make_room();
    context_.messages.acknowledgements.begin(turn.node().id(), active.message, active.model_calls + 1);
  }
  auto receiver = std::make_unique<CallReceiver>(*this, context_.engine, context_.hub.handle(turn.node()));
  const auto pause = context_.call_pauses.make(context_.hub.handle(turn.node()));
  request.pause = PauseToken(pause);
  auto outgoing = std::make_unique<OutgoingCall>();
  const auto kind = summarises ? Operation::Kind::summary : Operation::Kind::model_call;
  const OperationId id = context_.operations.open(turn.node(), kind, turn.epoch(), turn.number());
  receiver->bind(id);
  pause->bind(id);
  *outgoing = {turn.node().spec, &client, std::move(request), std::move(receiver)};
  active.outgoing = std::move(outgoing);
  active.operation = id;
  active.phase = Phase::sending;
  // Nothing is emitted for a call that would not be sent now.
  if (summarises && turn.is_admitted() && turn.withheld() < core::Withheld::steps)
    compactor_.emit_begin(turn);
  return Next::proceed;
}

// The turn was admitted after the call was registered: a stopper either finds the operation and cuts it, or
// its closed gate was read.
Next ModelCalls::send(Turn turn) {
  ActiveTurn& active = turn.active();
  // Steered since the context was written: it is written once more. So is a summary whose begin was not
  // emitted, because a pause has ended only now.
  if (is_cut(turn) || (active.summary && active.summary->number == 0)) return withdraw(turn, Next::proceed);
  if (turn.parks(core::Withheld::steps)) return withdraw(turn, Next::wait);
  const std::unique_ptr<OutgoingCall> outgoing = std::move(active.outgoing);
  const bool summarises = active.summary != nullptr;
  if (!summarises)
    note_request_end(turn.data().conversation.messages(), active.request_end, turn.data().sent);
  active.phase = summarises ? Phase::compacting : Phase::calling;
  active.usage_pending = true;
  active.delivered = {++active.model_calls, {}};
  active.cut_off.clear();
  ChatSink sink(std::move(outgoing->receiver));
  StopToken token = context_.operations[active.operation].stop.get_token();
  const events::Porch::Beginning beginning(context_.hub.porch);
  // A client that throws loses its sink, and the turn fails with `client_dropped_call`.
  context_.engine.guarded("LlmClient::chat", [&] {
    outgoing->client->chat(std::move(outgoing->request), std::move(token), std::move(sink));
  });
  return Next::wait;  // also if the outcome has arrived: then the next phase is appended
}

// The call is not sent now: the turn is in `asked` again.
Next ModelCalls::withdraw(Turn turn, Next next) noexcept {
  ActiveTurn& active = turn.active();
  context_.drop_outgoing(active);
  active.phase = Phase::asked;
  usage_.settle(turn.node(), active);  // releases the reservation
  const std::unique_ptr<const SummaryCall> summary = std::move(active.summary);
  if (!summary || summary->number == 0) return next;
  Compactor::emit_end(context_, turn.node(), turn.number(), *summary, Errc::none);
  return next;
}

// The turn that waits for that call. Late deliveries are counted.
std::optional<Turn> ModelCalls::turn_for_delta(Operation& operation) noexcept {
  std::optional<Turn> turn = Turn::of(*operation.node);
  if (turn && turn->active().operation == operation.id && turn->is_admitted() && !is_cut(*turn)) return turn;
  ++operation.late_deltas;
  return std::nullopt;
}

void ModelCalls::on_delta(OperationId id, std::string_view text) {
  Operation* const operation = context_.operations.find(id);
  if (!operation) return;
  const AgentEntry entry(context_, *operation->node);
  const std::optional<Turn> turn = turn_for_delta(*operation);
  if (!turn) return;
  context_.note_accepted(turn->node());
  ActiveTurn& active = turn->active();
  const bool is_summary = active.summary != nullptr;
  if (active.text.size() + text.size() > context_.limits.max_answer_bytes) return end_too_long(*turn, id);
  const bool filters = !is_summary && writes_blocks(turn->spec());
  std::string visible;
  runner_.run(turn->node(), [&] {
    active.text.append(text);
    if (filters) visible = active.filter.pass(text);
    if (!is_summary && !is_held(true)) keep_delivered(*turn, filters ? visible : text);
    return Next::wait;
  });
  if (is_summary || turn->is_over()) return;
  if (!filters) return emit_delta(*turn, text, id);
  if (!visible.empty()) emit_delta(*turn, visible, id);
}

void ModelCalls::end_too_long(Turn turn, OperationId id) {
  if (turn.active().summary) return end_long_summary(turn, id);
  usage_.settle(turn.node(), turn.active());
  if (turn.is_over()) return;
  ends_.end(turn, TurnEnd::failed_call,
            {Errc::response_too_large, "the answer is longer than TreeOptions::max_answer_bytes"},
            FinishReason::unknown);
  if (Operation* const operation = context_.operations.find(id)) {
    operation->end(DiscardReason::turn_over);
    context_.operations.cut(id);
  }
  context_.end_activity(turn.node());
}

// The turn goes on without the summary.
void ModelCalls::end_long_summary(Turn turn, OperationId id) {
  turn.active().summary->too_long = true;
  context_.operations.cut(id);  // its outcome may arrive at once: see on_outcome()
  if (turn.is_over() || turn.active().operation != id || !turn.is_admitted()) return;
  runner_.run(turn.node(), [&] {
    give_up_call(turn, DiscardReason::turn_over);
    return turn.is_admitted() ? compactor_.take(turn) : Next::ended;
  });
  lingering_.give_up_unwatched(turn.node(), turn.number());
  context_.end_activity(turn.node());
}

// The last act of its step, unless its call has ended.
void ModelCalls::emit_delta(Turn turn, std::string_view text, OperationId call) noexcept {
  context_.hub.emit_delta(turn.node(), turn.epoch(), call, static_cast<bool>(call), [&](Agent agent) {
    return DeltaReceived{std::move(agent), turn.number(), turn.active().model_calls, text};
  });
}

void ModelCalls::emit_held_text(Turn turn) {
  const std::string held = turn.active().filter.finish();
  if (held.empty()) return;
  if (!is_held(false)) keep_delivered(turn, held);
  emit_delta(turn, held, {});
}

// True if an observer gets the delta later, or perhaps not at all: then it is kept when it is delivered.
bool ModelCalls::is_held(bool ends_step) const noexcept {
  const events::EventHub& hub = context_.hub;
  return hub.wants(event_kind<DeltaReceived>) && !(ends_step && hub.porch.delivers_next());
}

void ModelCalls::on_delivered_delta(core::NodeId agent, std::uint32_t epoch, std::string_view text) noexcept {
  core::Node* const node = context_.find(agent);
  const std::optional<Turn> turn = node ? Turn::of(*node) : std::nullopt;
  if (turn && turn->epoch() == epoch)
    context_.engine.guarded("a delta", [&] { keep_delivered(*turn, text); });
}

void ModelCalls::on_refused_delta(OperationId id) noexcept {
  if (Operation* const operation = context_.operations.find(id)) ++operation->late_deltas;
}

void ModelCalls::on_reasoning(OperationId id, std::string_view text) {
  Operation* const operation = context_.operations.find(id);
  if (!operation) return;
  const AgentEntry entry(context_, *operation->node);
  const std::optional<Turn> turn = turn_for_delta(*operation);
  if (!turn || turn->active().summary) return;
  context_.note_accepted(turn->node());
  context_.hub.emit_delta(turn->node(), turn->epoch(), id, true, [&](Agent agent) {
    return ReasoningReceived{std::move(agent), turn->number(), turn->active().model_calls, text};
  });
}

void ModelCalls::on_outcome(OperationId id, ChatOutcome outcome) {
  Operation* const operation = context_.operations.find(id);
  if (!operation) return;
  core::Node& node = *operation->node;
  const AgentEntry entry(context_, node);
  TurnData& data = data_of(node);
  // The turn of the call: in progress, or being ended, if the outcome arrives during the cut.
  ActiveTurn* active = data.turn ? data.turn.get() : data.ending;
  if (active && active->operation != id) active = nullptr;
  const bool current = active && active == data.turn.get();
  const bool admitted = current && Turn(node).is_admitted();
  const ChatOutcome::Kind kind = outcome.kind;
  const std::uint64_t number = operation->turn;
  const std::size_t late_deltas = operation->late_deltas;
  const DiscardReason late =
      operation->late.value_or(current && !admitted ? why_refused(node) : DiscardReason::turn_over);
  // A cost that is not a number would disable every budget.
  if (outcome.cost && !core::is_amount(*outcome.cost)) outcome.cost.reset();
  if (active) {
    active->operation = {};
    active->answer = {outcome.kind,
                      outcome.finish_reason,
                      outcome.usage,
                      std::move(outcome.tool_calls),
                      std::move(outcome.reasoning),
                      std::move(outcome.order),
                      outcome.cost};
  }
  context_.operations.close(id);

  if (admitted) {
    context_.note_accepted(node);
    const bool cut = is_cut(Turn(node));
    usage_.settle(node, *active);
    // It may have ended the turn.
    if (data.turn.get() == active)
      runner_.run(node, [&] {
        if (active->summary) {
          active->summary->error = std::move(outcome.error);
          core::make_displayable(active->summary->error.message);
          return compactor_.take(Turn(node));
        }
        if (cut) return runner_.ask_again(Turn(node), ReaskCause::steered, {});
        if (kind != ChatOutcome::Kind::completed)
          return ends_.end(
              Turn(node),
              kind == ChatOutcome::Kind::cancelled ? TurnEnd::cancelled_call : TurnEnd::failed_call,
              std::move(outcome.error), outcome.finish_reason);
        active->phase = Phase::answered;
        return Next::proceed;
      });
    if (cut) discard_late(node, number, late_deltas, kind, DiscardReason::steered);
  } else if (active && !current) {
    active->late = late_answer(late_deltas, kind, late);
  } else {
    if (current) ends_.end(Turn(node), TurnEnd::refused);
    discard_late(node, number, late_deltas, kind, late);
  }
  context_.end_activity(node);
}

void ModelCalls::discard_late(const core::Node& node, std::uint64_t turn, std::size_t deltas,
                              ChatOutcome::Kind kind, DiscardReason reason) noexcept {
  if (const auto late = late_answer(deltas, kind, reason))
    context_.discard(node, turn, late->deltas, late->kind, late->reason);
}

}  // namespace agentcore::detail::turn
