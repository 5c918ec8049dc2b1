// Accounts: the rest of an agent's budgets.
#pragma once

#include "core/node.hpp"
#include "core/validate.hpp"
#include "loop/wait_clock.hpp"

#include <agentcore/budget.hpp>
#include <agentcore/chat.hpp>

#include <cstdint>
#include <string>

namespace agentcore::detail::turn {

// The estimated usage of a model call.
struct Estimate {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t answer_tokens = 0;
  double cost = 0;
  std::uint64_t number = 0;  // 1, 2, ... in the order of reserving
  bool active = false;       // it is reserved now

  std::uint64_t tokens() const noexcept { return core::saturating_sum(prompt_tokens, answer_tokens); }
};

// One budget, and its usage.
class Account {
 public:
  // `reservations`: the number made before, by calls that do not count in this account.
  explicit Account(std::uint64_t reservations) noexcept : older_(reservations) {}

  void grant(const Budget& budget, loop::WaitClock wall_clock);
  const Spent& spent() const noexcept { return spent_; }
  bool limits() const noexcept { return budget_.limits(); }
  const Budget& budget() const noexcept { return budget_; }
  bool is_expired() const noexcept { return expired_; }
  const loop::WaitClock& wall_clock() const noexcept { return wall_clock_; }
  // What was used before a restart counts, too.
  void restore(const Spent& spent, bool expired) noexcept {
    spent_.turns = spent.turns;
    spent_.tokens = spent.tokens;
    spent_.cost = spent.cost;
    expired_ = expired;
  }
  void expire() noexcept { expired_ = true; }
  loop::WaitClock& wall_clock() noexcept { return wall_clock_; }

  // Why nothing may begin any more, or "".
  std::string exhausted() const;
  bool is_exhausted() const noexcept {
    return expired_ || (budget_.tokens != no_limit && spent_.tokens > budget_.tokens) ||
           (budget_.cost != no_limit && spent_.cost > budget_.cost);
  }
  // Why one more turn is refused, or "".
  std::string refuses_turn() const;
  void count_turn() noexcept { spent_.turns = core::saturating_sum(spent_.turns, 1); }

  // How many tokens an answer may have after such a prompt; 0: none. Reserved tokens count as used, unless
  // only the spent ones are to count.
  enum class Count : std::uint8_t { reserved, spent };
  std::uint64_t answer_tokens_left(std::uint64_t prompt_tokens, const Prices& prices,
                                   Count count = Count::reserved) const noexcept;
  // Both also while there are no limits: limits may be granted, or removed, while the call is open.
  void reserve(const Estimate& estimate) noexcept;
  void release(const Estimate& estimate) noexcept;
  void spend(std::uint64_t tokens, double cost) noexcept;

 private:
  std::uint64_t older_;
  Budget budget_;
  Spent spent_;
  double cost_reserved_ = 0;
  bool expired_ = false;
  loop::WaitClock wall_clock_;
};

// The accounts of one agent.
struct Accounts {
  explicit Accounts(std::uint64_t reservations) noexcept : own(reservations), subtree(reservations) {}

  Account own;      // for its own usage
  Account subtree;  // for the usage of the agent and its subtree
};

}  // namespace agentcore::detail::turn
