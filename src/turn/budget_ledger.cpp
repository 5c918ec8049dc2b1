#include "turn/budget_ledger.hpp"

#include "turn/turn_data.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace agentcore::detail::turn {
namespace {

// Calls visit(owner, account) for each account that a call of `node` draws on, until `visit` returns false.
// Returns false then.
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

// The same for the accounts with limits.
template <typename Visit>
bool each_limit(core::Node& node, Visit&& visit) {
  return each_account(node, [&visit](core::Node& owner, Account& account) {
    return !account.limits() || visit(owner, account);
  });
}

// Refused by the first account with limits for which why(account) is not empty.
template <typename Why>
BudgetVerdict first_refusal(core::Node& node, Why&& why) {
  BudgetVerdict verdict;
  each_limit(node, [&](core::Node& owner, Account& account) {
    verdict.reason = why(account);
    verdict.allowed = verdict.reason.empty();
    if (!verdict.allowed) verdict.exhausted = &owner;
    return verdict.allowed;
  });
  return verdict;
}

Account& account_of(core::Node& node, BudgetLedger::Scope scope) {
  Accounts& accounts = *data_of(node).accounts;
  return scope == BudgetLedger::Scope::subtree ? accounts.subtree : accounts.own;
}

// True if `account` has room for a prompt of that size and an answer.
BudgetVerdict room_in(core::Node& owner, const Account& account, const Prices& prices,
                      std::uint64_t prompt_tokens, std::uint64_t left) {
  if (std::string used_up = account.exhausted(); !used_up.empty()) return {false, std::move(used_up), &owner};
  if (left > 0) return {};
  if (account.answer_tokens_left(prompt_tokens, prices, Account::Count::spent) == 0)
    return {false, "tokens or cost: too little is left for the next model call", &owner};
  // Most of the tokens that open calls have reserved will be free again: no reason to stop an agent.
  return {false,
          "tokens or cost: what is left is reserved by calls that are open; try again when they have ended",
          nullptr};
}

}  // namespace

void BudgetLedger::grant(core::Node& node, Scope scope, const Budget& budget, loop::WaitClock wall_clock) {
  TurnData& data = data_of(node);
  if (!data.accounts) data.accounts = std::make_unique<Accounts>(reservations_);
  account_of(node, scope).grant(budget, std::move(wall_clock));
}

Accounts* BudgetLedger::accounts_of(const core::Node& node) noexcept {
  return node.data ? static_cast<const TurnData&>(*node.data).accounts.get() : nullptr;
}

BudgetVerdict BudgetLedger::expire(core::Node& node, Scope scope) {
  Account& account = account_of(node, scope);
  account.expire();
  return {false, account.exhausted(), &node};
}

bool BudgetLedger::is_limited(core::Node& node) const noexcept {
  return !each_limit(node, [](core::Node&, Account&) { return false; });
}

BudgetVerdict BudgetLedger::admit_turn(core::Node& node) {
  BudgetVerdict verdict = first_refusal(node, [](const Account& account) { return account.refuses_turn(); });
  if (verdict.allowed)
    each_limit(node, [](core::Node&, Account& account) { return account.count_turn(), true; });
  return verdict;
}

BudgetVerdict BudgetLedger::check(core::Node& node) const {
  return first_refusal(node, [](const Account& account) { return account.exhausted(); });
}

const Account* BudgetLedger::exhausted_of(const core::Node& owner, bool own) const noexcept {
  const Accounts* const accounts = accounts_of(owner);
  if (accounts && own && accounts->own.is_exhausted()) return &accounts->own;
  return accounts && accounts->subtree.is_exhausted() ? &accounts->subtree : nullptr;
}

bool BudgetLedger::is_exhausted(core::Node& node) const noexcept {
  return !each_limit(node, [](core::Node&, Account& account) { return !account.is_exhausted(); });
}

BudgetVerdict BudgetLedger::reserve(core::Node& node, const Prices& prices, Estimate& estimate) {
  BudgetVerdict verdict;
  each_limit(node, [&](core::Node& owner, Account& account) {
    const std::uint64_t left = account.answer_tokens_left(estimate.prompt_tokens, prices);
    verdict = room_in(owner, account, prices, estimate.prompt_tokens, left);
    estimate.answer_tokens = std::min(estimate.answer_tokens, left);
    return verdict.allowed;
  });
  if (!verdict.allowed) return verdict;
  estimate.cost =
      cost_of({.prompt_tokens = estimate.prompt_tokens, .completion_tokens = estimate.answer_tokens}, prices);
  estimate.number = ++reservations_;
  estimate.active = true;
  // Also without limits: a limit may be granted while the call is open.
  each_account(node, [&](core::Node&, Account& account) { return account.reserve(estimate), true; });
  return verdict;
}

void BudgetLedger::release(core::Node& node, Estimate& estimate) noexcept {
  if (!std::exchange(estimate.active, false)) return;
  each_account(node, [&](core::Node&, Account& account) { return account.release(estimate), true; });
}

void BudgetLedger::settle(core::Node& node, Estimate& estimate, std::uint64_t tokens, double cost) noexcept {
  if (!std::exchange(estimate.active, false)) return;
  each_account(node, [&](core::Node&, Account& account) {
    account.release(estimate);
    if (account.limits()) account.spend(tokens, cost);
    return true;
  });
}

}  // namespace agentcore::detail::turn
