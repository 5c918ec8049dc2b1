// Budgets: how much an agent, or a whole subtree, may use before it is stopped.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/export.hpp>
#include <agentcore/no_limit.hpp>

#include <cstdint>
#include <optional>

namespace agentcore {

/// Limits for one agent (AgentLimits::budget) or for an agent and its descendants
/// (AgentLimits::subtree_budget). Each field is agentcore::no_limit by default. 0 permits nothing: no turn,
/// no token, no cost, no time.
///
///     agentcore::AgentSpec spec;
///     spec.limits.budget = {.tokens = 200'000, .cost = 1.50, .wall_clock = std::chrono::minutes(10)};
///     spec.model.prices = {.prompt = 2.50, .completion = 10};  // per million tokens
///     agentcore::Agent agent = tree.create(std::move(spec)).value();
///     agentcore::Spent used = agent.spent().value();
///
/// Before a model call, the expected usage is reserved: the tokens of the prompt as counted (see
/// TokenCounter), and ModelOptions::max_tokens for the answer, or 4,096 if that is empty. If less is left,
/// the answer is limited to what is left. After the call, the reservation is replaced by the usage that the
/// provider reports, or by agentcore's own count if the provider reports none.
///
/// The agent that has the budget is stopped with StopCause::budget, and its subtree with it, if too little is
/// left for a model call, if a model call used more than was left, if a turn begins after `turns` was used
/// up, or when `wall_clock` has passed. An answer that was received completely is kept. Exceptions:
/// - An AgentRole::user cannot be stopped: the turn that needs more fails with `budget_exceeded`.
/// - If the missing amount is only reserved by other model calls in flight, no agent is stopped. The turn
///   fails with `budget_exceeded`, and may be tried again when those calls have ended.
struct Budget {
  /// Turns that use a model, and turns of Agent::simulate(). The turns of a MessageHandler do not count.
  std::uint64_t turns = no_limit;
  /// Tokens of prompts and answers together.
  std::uint64_t tokens = no_limit;
  /// In the currency of Prices; 0 to 1e15, or no_limit. It needs ModelOptions::prices, or a model client that
  /// reports costs; with neither it has no effect. Without prices no cost is reserved: a call is refused only
  /// after the limit was exceeded.
  double cost = no_limit;
  /// Time since the agent was created or the budget was granted, also while the agent is idle or stopped. It
  /// does not run while the agent is paused, by itself or by an ancestor (Agent::pause()). Not negative.
  /// AgentLimits::turn_timeout limits each turn instead, and stops nothing.
  Duration wall_clock = no_limit;

  /// Returns true if at least one field is a limit.
  bool limits() const noexcept {
    return turns != no_limit || tokens != no_limit || cost != no_limit || wall_clock != no_limit;
  }
};

/// The price of one million tokens, 0 to 1e15, in any currency. All agents of a tree must use the same
/// currency.
struct Prices {
  double prompt = 0;      ///< Of the prompt.
  double completion = 0;  ///< Of the answer.
  /// Of those tokens of the prompt that the provider had cached. Empty: the price of `prompt`.
  std::optional<double> cached_prompt = {};
  /// Of those tokens of the prompt that the provider wrote to its cache. Empty: the price of `prompt`.
  std::optional<double> cache_write = {};
};

/// Returns the cost of `usage`, in the currency of `prices`.
///
///     agentcore::Usage usage{.prompt_tokens = 1'000, .completion_tokens = 200};
///     double cost = agentcore::cost_of(usage, {.prompt = 2.50, .completion = 10});  // 0.0045
AGENTCORE_API double cost_of(const Usage& usage, const Prices& prices) noexcept;

/// What was used of a budget since it was granted.
struct Spent {
  std::uint64_t turns = 0;   ///< Turns that have begun.
  std::uint64_t tokens = 0;  ///< Tokens of the model calls that have ended.
  double cost = 0;           ///< Cost of the model calls that have ended.
  /// Tokens that are reserved for model calls in flight. Not included in `tokens`.
  std::uint64_t tokens_reserved = 0;
};

}  // namespace agentcore
