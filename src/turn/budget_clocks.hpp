// BudgetClocks: the time limits of budgets.
#pragma once

#include "loop/wait_clock.hpp"
#include "turn/budget_ledger.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/budget.hpp>

namespace agentcore::detail::turn {

// All @loop_thread.
class BudgetClocks {
 public:
  BudgetClocks(TurnContext& context, BudgetLedger& ledger) : context_(context), ledger_(ledger) {}

  // Grants a budget, to the agent itself or to its subtree, and starts its clock unless the agent is paused.
  void grant(core::Node& node, const Budget& budget, bool subtree);
  // Stops the clocks of the agent if it is paused, and starts them otherwise. Throws std::bad_alloc; to be
  // called again then.
  void update(const core::Node& node);

 private:
  void on_end(core::NodeId agent, BudgetLedger::Scope scope);

  TurnContext& context_;
  BudgetLedger& ledger_;
};

}  // namespace agentcore::detail::turn
