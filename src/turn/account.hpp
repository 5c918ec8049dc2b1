// Accounts: what is left of an agent's budgets.
#pragma once

#include "core/node.hpp"
#include "core/validate.hpp"

#include <agentcore/budget.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/runtime.hpp>

#include <cstdint>
#include <string>

namespace agentcore::turn {

// What a model call will probably use.
struct Estimate {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t answer_tokens = 0;
  double cost = 0;
  std::uint64_t number = 0;  // 1, 2, ... in the order of reserving
  bool active = false;       // it is reserved now

  std::uint64_t tokens() const noexcept { return core::saturating_sum(prompt_tokens, answer_tokens); }
};

// One budget, and what was used of it.
class Account {
 public:
  // `reservations`: how many were made before, by calls that know nothing of it.
  explicit Account(std::uint64_t reservations) noexcept : older_(reservations) {}

  void grant(const Budget& budget, Timer deadline);
  const Spent& spent() const noexcept { return spent_; }
  bool limits() const noexcept { return budget_.limits(); }
  void expire() noexcept { expired_ = true; }

  // Why nothing can be begun any more, or "".
  std::string exhausted() const;
  // Why a turn more is one too many, or "".
  std::string refuses_turn() const;
  void count_turn() noexcept { ++spent_.turns; }

  // How many tokens an answer may have after such a prompt; 0: none. What is reserved counts as used, unless
  // only what is spent shall count.
  enum class Count : std::uint8_t { reserved, spent };
  std::uint64_t answer_tokens_left(std::uint64_t prompt_tokens, const Prices& prices,
                                   Count count = Count::reserved) const noexcept;
  // Both also while there are no limits: they may be granted, or lifted, while the call is open.
  void reserve(const Estimate& estimate) noexcept;
  void release(const Estimate& estimate) noexcept;
  void spend(std::uint64_t tokens, double cost) noexcept;

 private:
  std::uint64_t older_;
  Budget budget_;
  Spent spent_;
  double cost_reserved_ = 0;
  bool expired_ = false;
  Timer deadline_;
};

// Those of one agent.
struct Accounts {
  explicit Accounts(std::uint64_t reservations) noexcept : own(reservations), subtree(reservations) {}

  Account own;      // for what it does itself
  Account subtree;  // for what it and all below it do
};

}  // namespace agentcore::turn
