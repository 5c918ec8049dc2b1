// UsageAccounting: the usage of a turn's model calls, estimated before a call and settled after it.
#pragma once

#include "turn/budget_ledger.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/chat.hpp>

namespace agentcore::detail::turn {

// Runs the host's TokenCounter where budgets are limited or a call was cut off. All @loop_thread.
class UsageAccounting {
 public:
  UsageAccounting(TurnContext& context, BudgetLedger& ledger) : context_(context), ledger_(ledger) {}

  // Reserves the estimated usage of the call, and lowers request.max_tokens to what is left. Check the turn
  // afterwards: a counter that throws is logged.
  BudgetVerdict reserve(Turn turn, ChatRequest& request);
  // Adds the usage of the last model call of `active`, a turn of `node`, to the turn's result and to the
  // budgets; that of a summary also to what all summaries have used. Does so once, whatever ends the call or
  // the turn. From then on the cost is known if the agent has prices. Check the turn afterwards.
  void settle(core::Node& node, ActiveTurn& active) noexcept;

 private:
  Usage usage_of(const core::Node& node, const ActiveTurn& active) const noexcept;
  Usage counted_usage(const core::Node& node, const ActiveTurn& active, Usage used) const noexcept;

  TurnContext& context_;
  BudgetLedger& ledger_;
};

}  // namespace agentcore::detail::turn
