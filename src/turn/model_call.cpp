// A turn's model calls: what is sent, what it may cost, what comes back.
#include "tools/protocol.hpp"
#include "tools/windows_text.hpp"
#include "turn/turns.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace agentcore::turn {
namespace {

// Reserved for an answer whose length nobody limits.
constexpr std::uint64_t usual_answer_tokens = 4096;

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

// Calls visit(node, account) for each account that a call of `node` draws on, whether it limits anything or
// not. False when `visit` said so.
template <typename Visit>
bool each_account(core::Node& node, Visit&& visit) {
  for (core::Node* at = &node; at; at = at->parent.load(std::memory_order_relaxed)) {
    Accounts* const accounts = at->data ? static_cast<TurnData&>(*at->data).accounts.get() : nullptr;
    if (!accounts) continue;
    if (at == &node && !visit(*at, accounts->own)) return false;
    if (!visit(*at, accounts->subtree)) return false;
  }
  return true;
}

// The same for those with limits.
template <typename Visit>
bool each_limit(core::Node& node, Visit&& visit) {
  return each_account(node, [&visit](core::Node& owner, Account& account) {
    return !account.limits() || visit(owner, account);
  });
}

// A counter is the host's: where it throws, our own estimate has to do.
std::size_t count_tokens(loop::Engine& engine, const AgentSpec& spec, std::string_view text) {
  std::size_t tokens = 0;
  if (spec.context.count_tokens &&
      engine.guarded("TokenCounter", [&] { tokens = spec.context.count_tokens(text); }))
    return tokens;
  return estimate_tokens(text);
}

std::uint64_t count_calls(loop::Engine& engine, const AgentSpec& spec, const std::vector<ToolCall>& calls) {
  std::uint64_t tokens = 0;
  for (const ToolCall& call : calls)
    tokens += count_tokens(engine, spec, call.name) + count_tokens(engine, spec, call.arguments);
  return tokens;
}

std::uint64_t prompt_tokens(loop::Engine& engine, const AgentSpec& spec, const ChatRequest& request) {
  std::uint64_t tokens = 0;
  for (const ChatMessage& message : request.messages)
    tokens += count_tokens(engine, spec, message.content) + count_calls(engine, spec, message.tool_calls);
  for (const ToolDescription& tool : request.tools)
    tokens += count_tokens(engine, spec, tool.description) + count_tokens(engine, spec, tool.parameters);
  return tokens;
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
  if (!reserve(node, request) || !may_go_on(node, epoch)) return false;  // a TokenCounter is the host's code
  send(node, *client, std::move(request));
  return !hub_.closed() && is_active(node) && active_turn(node)->phase == Phase::answered;
}

ChatRequest Turns::request_for(core::Node& node) {
  const AgentSpec& spec = *node.spec;
  ChatRequest request;
  request.agent_id = table_.names().name_of(node, node.id());
  request.model = spec.model;
  request.temperature = spec.temperature;
  request.max_tokens = spec.max_tokens;
  write_context(node, request);
  return request;
}

void Turns::send(core::Node& node, LlmClient& client, ChatRequest request) {
  ActiveTurn& turn = *active_turn(node);
  turn.phase = Phase::calling;
  turn.text.clear();
  const std::uint32_t slot = flights_.open(node, Flight::Kind::model_call, turn.epoch, node.turns);
  turn.flight = slot + 1;
  // Asked again now that the call can be found: a stopper either finds it and cuts it, or is seen here.
  if (!core::admits(node, node.load().generation(), turn.epoch)) {
    turn.flight = 0;
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

// Null once the call has ended, and when the tree or the Runtime is gone: what a client still says then is
// for nobody.
Flight* Turns::find(std::uint32_t slot, std::uint64_t serial) noexcept {
  return hub_.closed() || engine_.closed() ? nullptr : flights_.find(slot, serial);
}

void Turns::on_delta(std::uint32_t slot, std::uint64_t serial, std::string_view text) {
  Flight* flight = find(slot, serial);
  if (!flight) return;
  core::Node& node = *flight->node;
  const Entry entry(*this, node);
  ActiveTurn* const turn = active_turn(node);
  const bool current = turn && turn->flight == slot + 1;
  if (!current || !core::admits(node, core::generation_of(flight->agent), flight->epoch)) {
    ++flight->late_deltas;
    return;
  }
  if (turn->text.size() + text.size() > limits_.max_answer_bytes) {
    settle(node, ChatOutcome::cancelled());
    fail(node, ChatOutcome::failed(
                   {Errc::response_too_large, "the answer is longer than TreeOptions::max_answer_bytes"}));
    if (!hub_.closed() && flights_.find(slot, serial)) flights_.cut(slot);
    if (!hub_.closed()) owner_.schedule(node);
    return;
  }
  turn->text.append(text);
  hub_.tell(node, [&](Agent agent) { return DeltaReceived{std::move(agent), node.turns, text}; });
}

void Turns::on_outcome(std::uint32_t slot, std::uint64_t serial, ChatOutcome outcome) {
  Flight* flight = find(slot, serial);
  if (!flight) return;
  core::Node& node = *flight->node;
  const Entry entry(*this, node);
  ActiveTurn* const turn = active_turn(node);
  const std::uint64_t number = flight->turn;
  const std::size_t late_deltas = flight->late_deltas;
  const bool current = turn && turn->flight == slot + 1;
  const bool admitted = current && core::admits(node, core::generation_of(flight->agent), flight->epoch);
  const ChatOutcome::Kind kind = outcome.kind;
  if (current) turn->flight = 0;
  flights_.close(slot);

  if (admitted) {
    settle(node, outcome);
    if (kind == ChatOutcome::Kind::completed) {
      turn->answer = std::move(outcome);
      turn->phase = Phase::answered;
      advance(node);
    } else {
      fail(node, std::move(outcome));
    }
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

// Counts a turn; false when there is none left: then the turn has ended.
bool Turns::afford_turn(core::Node& node) {
  std::string why;
  const bool affordable = each_limit(node, [&](core::Node& owner, Account& account) {
    why = account.refuses_turn();
    if (!why.empty()) owner_.stop_for_budget(owner, why);
    return why.empty();
  });
  if (affordable)
    each_limit(node, [](core::Node&, Account& account) { return account.count_turn(), true; });
  else
    end_for_budget(node, std::move(why));
  return affordable;
}

// Whoever has the budget is being stopped, and this turn with it. A person's agent cannot be stopped: then
// the turn has failed.
void Turns::end_for_budget(core::Node& node, std::string why) {
  if (hub_.closed() || !is_active(node) || !may_go_on(node, active_turn(node)->epoch)) return;
  Error error{Errc::budget_exceeded, std::move(why)};
  if (node.load().state() == AgentState::processing) return fail_acting(node, std::move(error));
  fail(node, ChatOutcome::failed(std::move(error)));
}

// Reserves what the call will probably use, in all budgets or in none. False: it is too much for one of them,
// and the turn has ended with the stop of whoever has that budget.
bool Turns::reserve(core::Node& node, ChatRequest& request) {
  const AgentSpec& spec = *node.spec;
  ActiveTurn& turn = *active_turn(node);
  bool limited = false;
  each_limit(node, [&](core::Node&, Account&) { return limited = true, false; });
  if (!limited) return true;
  Estimate& estimate = turn.reserved;
  estimate = {};
  estimate.prompt_tokens = prompt_tokens(engine_, spec, request);
  estimate.answer_tokens = request.max_tokens.value_or(usual_answer_tokens);
  const std::uint64_t wanted = estimate.answer_tokens;
  std::string why;
  const bool affordable = each_limit(node, [&](core::Node& owner, Account& account) {
    why = account.exhausted();
    const std::uint64_t left = account.answer_tokens_left(estimate.prompt_tokens, spec.prices);
    if (why.empty() && left == 0) why = "tokens or cost: too little is left for the next model call";
    if (!why.empty()) owner_.stop_for_budget(owner, why);
    estimate.answer_tokens = std::min(estimate.answer_tokens, left);
    return why.empty();
  });
  if (!affordable) {
    end_for_budget(node, std::move(why));
    return false;
  }
  if (estimate.answer_tokens < wanted)
    request.max_tokens = static_cast<std::uint32_t>(estimate.answer_tokens);
  estimate.cost = cost_of({estimate.prompt_tokens, estimate.answer_tokens, 0}, spec.prices);
  estimate.number = ++reservations_;
  estimate.active = true;
  each_account(node, [&](core::Node&, Account& account) { return account.reserve(estimate), true; });
  return true;
}

// Settles what was reserved for the turn's call, if anything, by what the provider says; where it says
// nothing, by what was sent and received.
void Turns::settle(core::Node& node, const ChatOutcome& outcome) {
  ActiveTurn& turn = *active_turn(node);
  turn.result->usage += outcome.usage;
  if (!std::exchange(turn.reserved.active, false)) return;
  const AgentSpec& spec = *node.spec;
  Usage used = outcome.usage;
  if (used == Usage{} && outcome.kind != ChatOutcome::Kind::failed) {
    used.prompt_tokens = turn.reserved.prompt_tokens;
    used.completion_tokens =
        count_tokens(engine_, spec, turn.text) + count_calls(engine_, spec, outcome.tool_calls);
  }
  if (used.total_tokens == 0) used.total_tokens = used.prompt_tokens + used.completion_tokens;
  each_account(node, [&](core::Node&, Account& account) {
    account.release(turn.reserved);
    if (account.limits()) account.spend(used, spec.prices);
    return true;
  });
}

// More was used than granted: stops whoever has that budget. True: the turn, if there was one, has ended.
bool Turns::stop_if_over(core::Node& node) {
  std::string why;
  const bool over = !each_limit(node, [&](core::Node& owner, Account& account) {
    why = account.exhausted();
    if (!why.empty()) owner_.stop_for_budget(owner, why);
    return why.empty();
  });
  if (over) end_for_budget(node, std::move(why));
  return over;
}

void Turns::grant(core::Node& node, const Budget& budget, bool subtree) {
  TurnData& data = data_of(node);
  if (!data.accounts) data.accounts = std::make_unique<Accounts>(reservations_);
  Account& account = subtree ? data.accounts->subtree : data.accounts->own;
  Timer deadline;
  if (budget.wall_clock > Duration::zero()) {
    const std::uint64_t id =
        engine_.start_timer(loop::later(engine_.now(), budget.wall_clock),
                            [this, agent = node.id(), subtree] { on_wall_clock(agent, subtree); });
    deadline = Timer(engine_.weak_from_this(), id);
  }
  account.grant(budget, std::move(deadline));
}

void Turns::on_wall_clock(core::NodeId agent, bool subtree) {
  core::Node* const node = hub_.closed() ? nullptr : table_.find(agent);
  if (!node) return;
  Accounts& accounts = *data_of(*node).accounts;
  Account& account = subtree ? accounts.subtree : accounts.own;
  account.expire();
  owner_.stop_for_budget(*node, account.exhausted());
}

}  // namespace agentcore::turn
