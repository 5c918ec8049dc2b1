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
  const std::uint64_t prompt = request_tokens(context_.engine, turn.spec(), request);
  if (turn.is_over()) return {};
  Estimate& estimate = turn.active().reserved;
  estimate = {};
  estimate.prompt_tokens = prompt;
  const std::uint64_t wanted = request.max_tokens.value_or(usual_answer_tokens);
  estimate.answer_tokens = wanted;
  BudgetVerdict verdict = ledger_.reserve(turn.node(), turn.spec().model.prices, estimate);
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
        reserved ? text_tokens(context_.engine, *node.spec, active.text) : estimate_tokens(active.text);
  used.total_tokens =
      std::max(used.total_tokens, core::saturating_sum(used.prompt_tokens, used.completion_tokens));
  return used;
}

void UsageAccounting::settle(core::Node& node, ActiveTurn& active) noexcept {
  const Prices& prices = node.spec->model.prices;
  TurnResult& result = *active.result;
  const bool has_prices = prices.prompt > 0 || prices.completion > 0 ||
                          prices.cached_prompt.value_or(0) > 0 || prices.cache_write.value_or(0) > 0;
  if (has_prices) result.cost = result.cost.value_or(0);
  if (!active.usage_pending) return ledger_.release(node, active.reserved);
  const Usage used = usage_of(node, active);
  const bool in_budgets = active.reserved.active || active.summary;
  const Usage counted = in_budgets ? counted_usage(node, active, used) : used;
  // What counts tokens may have ended the turn, and settled it.
  if (!std::exchange(active.usage_pending, false)) return;
  result.usage += used;
  if (active.answer.cost || has_prices)
    result.cost = result.cost.value_or(0) + active.answer.cost.value_or(cost_of(used, prices));
  if (active.summary) {
    std::uint64_t& summaries = data_of(node).summary_tokens;
    summaries = core::saturating_sum(summaries, counted.total_tokens);
  }
  if (in_budgets)
    ledger_.settle(node, active.reserved, counted.total_tokens,
                   active.answer.cost.value_or(cost_of(counted, prices)));
}

// An answer whose provider reports no usage is not free: its tokens are counted here.
Usage UsageAccounting::counted_usage(const core::Node& node, const ActiveTurn& active,
                                     Usage used) const noexcept {
  const AgentSpec& spec = *node.spec;
  const bool unreported = used.prompt_tokens == 0 && used.completion_tokens == 0 && used.total_tokens == 0;
  if (unreported && active.answer.kind == ChatOutcome::Kind::completed) {
    used.prompt_tokens = active.reserved.active ? active.reserved.prompt_tokens : active.prompt_tokens;
    used.completion_tokens =
        core::saturating_sum(text_tokens(context_.engine, spec, active.text),
                             call_tokens(context_.engine, spec, active.answer.tool_calls));
  }
  if (used.total_tokens == 0)
    used.total_tokens = core::saturating_sum(used.prompt_tokens, used.completion_tokens);
  return used;
}

}  // namespace agentcore::detail::turn
