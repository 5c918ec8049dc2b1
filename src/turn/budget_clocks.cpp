#include "turn/budget_clocks.hpp"

#include "core/gates.hpp"

#include <string>
#include <utility>

namespace agentcore::detail::turn {

void BudgetClocks::grant(core::Node& node, const Budget& budget, bool subtree) {
  const BudgetLedger::Scope scope = subtree ? BudgetLedger::Scope::subtree : BudgetLedger::Scope::own;
  loop::WaitClock clock(budget.wall_clock, [this, agent = node.id(), scope] { on_end(agent, scope); });
  if (!core::paused_by(node)) clock.run(context_.engine);
  ledger_.grant(node, scope, budget, std::move(clock));
}

void BudgetClocks::update(const core::Node& node) {
  Accounts* const accounts = BudgetLedger::accounts_of(node);
  if (!accounts) return;
  const bool paused = core::paused_by(node);
  for (Account* const account : {&accounts->own, &accounts->subtree})
    paused ? account->wall_clock().halt(context_.engine) : account->wall_clock().run(context_.engine);
}

void BudgetClocks::on_end(core::NodeId agent, BudgetLedger::Scope scope) {
  core::Node* const node = context_.find(agent);
  if (!node) return;
  Accounts* const accounts = BudgetLedger::accounts_of(*node);
  if (accounts && core::paused_by(*node)) {  // and update() has not been called for that yet
    Account& account = scope == BudgetLedger::Scope::subtree ? accounts->subtree : accounts->own;
    return account.wall_clock().halt(context_.engine);
  }
  std::string reason;
  context_.engine.guarded("a budget's time", [&] { reason = ledger_.expire(*node, scope).reason; });
  context_.listener.on_budget_exhausted(*node, std::move(reason));
}

}  // namespace agentcore::detail::turn
