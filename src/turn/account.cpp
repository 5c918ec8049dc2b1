#include "turn/account.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace agentcore::detail::turn {
namespace {

std::string used_up(const char* what, std::uint64_t used, std::uint64_t limit) {
  return std::string(what) + ": " + std::to_string(used) + " of " + std::to_string(limit) + " used";
}

}  // namespace

void Account::grant(const Budget& budget, loop::WaitClock wall_clock) {
  budget_ = budget;
  spent_ = {.turns = 0, .tokens = 0, .cost = 0, .tokens_reserved = spent_.tokens_reserved};
  expired_ = false;
  wall_clock_ = std::move(wall_clock);
}

std::string Account::exhausted() const {
  if (!is_exhausted()) return {};
  if (expired_) return "wall clock: the time limit has passed";
  if (budget_.tokens != no_limit && spent_.tokens > budget_.tokens)
    return used_up("tokens", spent_.tokens, budget_.tokens);
  return "cost: the limit is exceeded";
}

std::string Account::refuses_turn() const {
  if (budget_.turns != no_limit && spent_.turns >= budget_.turns)
    return used_up("turns", spent_.turns, budget_.turns);
  return exhausted();
}

std::uint64_t Account::answer_tokens_left(std::uint64_t prompt_tokens, const Prices& prices,
                                          Count count) const noexcept {
  const bool reserved = count == Count::reserved;
  std::uint64_t left = no_limit;
  if (budget_.tokens != no_limit) {
    const std::uint64_t counted = core::saturating_sum(spent_.tokens, reserved ? spent_.tokens_reserved : 0);
    const std::uint64_t taken = core::saturating_sum(counted, prompt_tokens);
    left = taken < budget_.tokens ? budget_.tokens - taken : 0;
  }
  if (budget_.cost != no_limit) {
    const double money = budget_.cost - spent_.cost - (reserved ? cost_reserved_ : 0) -
                         cost_of({.prompt_tokens = prompt_tokens}, prices);
    if (money < 0) return 0;
    if (prices.completion > 0)
      left = std::min(left, static_cast<std::uint64_t>(std::min(money / prices.completion * 1e6, 1e18)));
  }
  return left;
}

void Account::reserve(const Estimate& estimate) noexcept {
  spent_.tokens_reserved = core::saturating_sum(spent_.tokens_reserved, estimate.tokens());
  cost_reserved_ += estimate.cost;
}

void Account::release(const Estimate& estimate) noexcept {
  if (estimate.number <= older_) return;
  spent_.tokens_reserved -= std::min(spent_.tokens_reserved, estimate.tokens());
  cost_reserved_ = std::max(0.0, cost_reserved_ - estimate.cost);
}

void Account::spend(std::uint64_t tokens, double cost) noexcept {
  spent_.tokens = core::saturating_sum(spent_.tokens, tokens);
  spent_.cost += cost;
}

}  // namespace agentcore::detail::turn
