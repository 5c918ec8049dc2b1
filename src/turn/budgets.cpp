// What a turn may use: budgets are asked before a model call, and settled after it.
#include "core/validate.hpp"
#include "turn/turns.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace agentcore::turn {
namespace {

// Reserved for an answer whose length nobody limits.
constexpr std::uint64_t usual_answer_tokens = 4096;

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
    for (const std::string* text : {&call.name, &call.arguments})
      tokens = core::saturating_sum(tokens, count_tokens(engine, spec, *text));
  return tokens;
}

std::uint64_t prompt_tokens(loop::Engine& engine, const AgentSpec& spec, const ChatRequest& request) {
  std::uint64_t tokens = 0;
  const auto add = [&tokens](std::uint64_t more) { tokens = core::saturating_sum(tokens, more); };
  for (const ChatMessage& message : request.messages) {
    add(count_tokens(engine, spec, message.content));
    add(count_calls(engine, spec, message.tool_calls));
    for (const ReasoningBlock& block : message.reasoning) add(count_tokens(engine, spec, block.data));
    add(message.parts.size() * estimated_picture_tokens);
  }
  for (const ToolDescription& tool : request.tools) {
    add(count_tokens(engine, spec, tool.description));
    add(count_tokens(engine, spec, tool.parameters));
  }
  return tokens;
}

}  // namespace

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
  if (hub_.closed() || !is_active(node)) return;
  active_turn(node)->stop_reason = "a budget is used up: " + why;
  if (!may_go_on(node, active_turn(node)->epoch)) return;
  Error error{Errc::budget_exceeded, std::move(why), 0, true};
  if (node.load().state() == AgentState::processing) return fail_acting(node, std::move(error));
  fail(node, ChatOutcome::failed(std::move(error)));
}

// Reserves what the call will probably use, in all budgets or in none. False: it is too much for one of them,
// and the turn has ended: with the stop of whoever has that budget, or alone, if it is only reserved by
// others.
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
    if (why.empty() && left == 0) {
      why = "tokens or cost: too little is left for the next model call";
      // What open calls have reserved will mostly be free again: no reason to stop everybody.
      if (account.answer_tokens_left(estimate.prompt_tokens, spec.prices, Account::Count::spent) > 0) {
        why =
            "tokens or cost: what is left is reserved by calls that are open; try again when they have ended";
        return false;
      }
    }
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
  estimate.cost = cost_of(
      {.prompt_tokens = estimate.prompt_tokens, .completion_tokens = estimate.answer_tokens}, spec.prices);
  estimate.number = ++reservations_;
  estimate.active = true;
  each_account(node, [&](core::Node&, Account& account) { return account.reserve(estimate), true; });
  return true;
}

// The call is not made after all.
void Turns::release(core::Node& node, ActiveTurn& turn) noexcept {
  if (!std::exchange(turn.reserved.active, false)) return;
  each_account(node, [&](core::Node&, Account& account) { return account.release(turn.reserved), true; });
}

// What the model call of that turn used, by its outcome. If the call was cancelled and its usage is not
// complete, the counts that are missing are estimated from what was sent and received.
Usage Turns::usage_of(const core::Node& node, const ActiveTurn& turn) const noexcept {
  Usage used = turn.answer.usage;
  if (turn.answer.kind != ChatOutcome::Kind::cancelled || used.complete) return used;
  const bool reserved = turn.reserved.active;
  if (used.prompt_tokens == 0)
    used.prompt_tokens = reserved ? turn.reserved.prompt_tokens : turn.prompt_tokens;
  if (used.completion_tokens == 0)
    used.completion_tokens =
        reserved ? count_tokens(engine_, *node.spec, turn.text) : estimate_tokens(turn.text);
  used.total_tokens =
      std::max(used.total_tokens, core::saturating_sum(used.prompt_tokens, used.completion_tokens));
  return used;
}

// Adds what the model call of that turn used to the turn's result, once, whatever ends the call or the turn.
// If the agent has prices, the cost is 0 before that, and no longer unknown.
void Turns::settle(core::Node& node, ActiveTurn& turn) noexcept {
  const AgentSpec& spec = *node.spec;
  InteractionResult& result = *turn.result;
  const bool has_prices =
      spec.prices.prompt > 0 || spec.prices.completion > 0 || spec.prices.cached_prompt.value_or(0) > 0;
  if (has_prices) result.cost = result.cost.value_or(0);
  if (!std::exchange(turn.uncounted, false)) return release(node, turn);
  const Usage used = usage_of(node, turn);
  result.usage += used;
  if (turn.answer.cost || has_prices)
    result.cost = result.cost.value_or(0) + turn.answer.cost.value_or(cost_of(used, spec.prices));
  settle_budgets(node, turn, used);
}

// The same for budgets, if anything is reserved there. An answer whose provider reports no usage is not free:
// its tokens are counted here.
void Turns::settle_budgets(core::Node& node, ActiveTurn& turn, Usage used) noexcept {
  if (!std::exchange(turn.reserved.active, false)) return;
  const AgentSpec& spec = *node.spec;
  const ChatOutcome& outcome = turn.answer;
  const bool unreported = used.prompt_tokens == 0 && used.completion_tokens == 0 && used.total_tokens == 0;
  if (unreported && outcome.kind == ChatOutcome::Kind::completed) {
    used.prompt_tokens = turn.reserved.prompt_tokens;
    used.completion_tokens = core::saturating_sum(count_tokens(engine_, spec, turn.text),
                                                  count_calls(engine_, spec, outcome.tool_calls));
  }
  if (used.total_tokens == 0)
    used.total_tokens = core::saturating_sum(used.prompt_tokens, used.completion_tokens);
  const double cost = outcome.cost.value_or(cost_of(used, spec.prices));
  each_account(node, [&](core::Node&, Account& account) {
    account.release(turn.reserved);
    if (account.limits()) account.spend(used.total_tokens, cost);
    return true;
  });
  if (engine_.closed()) hub_.close();  // a TokenCounter is the host's code
}

// False: more was used than granted; whoever has that budget is being stopped, and the turn, if there was
// one, has ended.
bool Turns::within_budget(core::Node& node) {
  std::string why;
  const bool within = each_limit(node, [&](core::Node& owner, Account& account) {
    why = account.exhausted();
    if (!why.empty()) owner_.stop_for_budget(owner, why);
    return why.empty();
  });
  if (!within) end_for_budget(node, std::move(why));
  return within;
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
  std::string why;
  engine_.guarded("a budget's time", [&] { why = account.exhausted(); });
  owner_.stop_for_budget(*node, std::move(why));
}

}  // namespace agentcore::turn
