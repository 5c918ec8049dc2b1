#include "turn/usage_accounting.hpp"

#include "core/validate.hpp"
#include "turn/request_tokens.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::turn {
namespace {

// Reserved for an answer whose length is not limited.
constexpr std::uint64_t usual_answer_tokens = 4096;

}  // namespace

BudgetVerdict UsageAccounting::reserve(Turn turn, ChatRequest& request) {
  if (!ledger_.is_limited(turn.node())) return {};
  Estimate& estimate = turn.active().reserved;
  estimate = {};
  estimate.prompt_tokens = request_tokens(environment_.engine, turn.spec(), request);
  const std::uint64_t wanted = request.max_tokens.value_or(usual_answer_tokens);
  estimate.answer_tokens = wanted;
  BudgetVerdict verdict = ledger_.reserve(turn.node(), turn.spec().prices, estimate);
  if (verdict.allowed && estimate.answer_tokens < wanted)
    request.max_tokens = static_cast<std::uint32_t>(estimate.answer_tokens);
  return verdict;
}

// By the outcome of the call. If the call was cancelled and its usage is not complete, the missing counts are
// estimated from the sent and received text.
Usage UsageAccounting::usage_of(const core::Node& node, const ActiveTurn& active) const noexcept {
  Usage used = active.answer.usage;
  if (active.answer.kind != ChatOutcome::Kind::cancelled || used.complete) return used;
  const bool reserved = active.reserved.active;
  if (used.prompt_tokens == 0)
    used.prompt_tokens = reserved ? active.reserved.prompt_tokens : active.prompt_tokens;
  if (used.completion_tokens == 0)
    used.completion_tokens =
        reserved ? text_tokens(environment_.engine, *node.spec, active.text) : estimate_tokens(active.text);
  used.total_tokens =
      std::max(used.total_tokens, core::saturating_sum(used.prompt_tokens, used.completion_tokens));
  return used;
}

void UsageAccounting::settle(core::Node& node, ActiveTurn& active) noexcept {
  const Prices& prices = node.spec->prices;
  TurnResult& result = *active.result;
  const bool has_prices = prices.prompt > 0 || prices.completion > 0 || prices.cached_prompt.value_or(0) > 0;
  if (has_prices) result.cost = result.cost.value_or(0);
  if (!std::exchange(active.usage_pending, false)) return ledger_.release(node, active.reserved);
  const Usage used = usage_of(node, active);
  result.usage += used;
  if (active.answer.cost || has_prices)
    result.cost = result.cost.value_or(0) + active.answer.cost.value_or(cost_of(used, prices));
  if (active.reserved.active || active.summary) settle_budgets(node, active, used);
}

// An answer whose provider reports no usage is not free: its tokens are counted here.
void UsageAccounting::settle_budgets(core::Node& node, ActiveTurn& active, Usage used) noexcept {
  const AgentSpec& spec = *node.spec;
  const ChatOutcome& outcome = active.answer;
  const bool unreported = used.prompt_tokens == 0 && used.completion_tokens == 0 && used.total_tokens == 0;
  if (unreported && outcome.kind == ChatOutcome::Kind::completed) {
    used.prompt_tokens = active.reserved.active ? active.reserved.prompt_tokens : active.prompt_tokens;
    used.completion_tokens = core::saturating_sum(text_tokens(environment_.engine, spec, active.text),
                                                  call_tokens(environment_.engine, spec, outcome.tool_calls));
  }
  if (used.total_tokens == 0)
    used.total_tokens = core::saturating_sum(used.prompt_tokens, used.completion_tokens);
  if (active.summary) {
    std::uint64_t& summaries = data_of(node).summary_tokens;
    summaries = core::saturating_sum(summaries, used.total_tokens);
  }
  ledger_.settle(node, active.reserved, used.total_tokens, outcome.cost.value_or(cost_of(used, spec.prices)));
}

}  // namespace agentcore::detail::turn
