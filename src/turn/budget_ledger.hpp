// BudgetLedger: decides whether the budgets of an agent and of its ancestors allow a turn or a model call.
#pragma once

#include "core/node.hpp"
#include "turn/account.hpp"

#include <agentcore/budget.hpp>
#include <agentcore/runtime.hpp>

#include <cstdint>
#include <string>

namespace agentcore::detail::turn {

// A decision. If it is a refusal, `reason` has the reason. `exhausted` is then the agent whose budget is used
// up, which has to be stopped; null: too much is reserved by other calls, which is no reason to stop an
// agent.
struct BudgetVerdict {
  bool allowed = true;
  std::string reason = {};
  core::Node* exhausted = nullptr;
};

// An agent uses its own account, and the subtree accounts of itself and of every ancestor. The ledger never
// stops an agent, runs no code of the host and emits nothing. All @loop_thread.
class BudgetLedger {
 public:
  enum class Scope : std::uint8_t { own, subtree };

  // Grants a budget, and resets the usage of the earlier one. `deadline` is its wall clock.
  void grant(core::Node& node, Scope scope, const Budget& budget, loop::WaitClock wall_clock);
  // The clocks of both budgets of the agent. Null: no budget was ever granted.
  static Accounts* accounts_of(const core::Node& node) noexcept;
  // The wall clock of that budget has run out.
  BudgetVerdict expire(core::Node& node, Scope scope);

  // True if any account that `node` uses has limits.
  bool is_limited(core::Node& node) const noexcept;
  // Counts a turn in all accounts, if none refuses it.
  BudgetVerdict admit_turn(core::Node& node);
  // Reserves the estimated usage of a model call, in all accounts or in none. Lowers `estimate.answer_tokens`
  // to the least that is left.
  BudgetVerdict reserve(core::Node& node, const Prices& prices, Estimate& estimate);
  // The call is not made after all. Does nothing if nothing is reserved.
  void release(core::Node& node, Estimate& estimate) noexcept;
  // Replaces the reservation by the usage of the call. Does nothing if nothing is reserved.
  void settle(core::Node& node, Estimate& estimate, std::uint64_t tokens, double cost) noexcept;
  // Refuses if more was used than granted.
  BudgetVerdict check(core::Node& node) const;
  // The budget of `owner` that is used up: of its subtree, or its own, if its own calls are meant. Null:
  // none.
  const Account* exhausted_of(const core::Node& owner, bool own) const noexcept;
  // True if check() would refuse. Allocates nothing.
  bool is_exhausted(core::Node& node) const noexcept;

 private:
  std::uint64_t reservations_ = 0;  // made so far
};

}  // namespace agentcore::detail::turn
