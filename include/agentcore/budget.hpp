// Budgets: how much an agent, or a whole subtree, may use before it is stopped.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace agentcore {

// Limits; 0 means none. A model call is begun only if what it will probably use is still there: its prompt as
// counted, and its answer. That much is reserved before the call and settled by what the provider reports
// after it (by a count of our own where it reports nothing). An answer is asked for no longer than what is
// left. Who needs more than is left is stopped, with cause `budget`; what has come of an answer is kept.
// Where that is an AgentRole::user, which nothing stops, the turn that needs more fails with
// `budget_exceeded`.
struct Budget {
  std::uint64_t turns = 0;   // with a model; those of a MessageHandler do not count
  std::uint64_t tokens = 0;  // prompt and completion
  double cost = 0;           // in the currency of Prices; 0 to 1e15
  Duration wall_clock{0};    // since the agent was made, or the last grant; running or not; not negative

  bool limits() const noexcept {
    return turns != 0 || tokens != 0 || cost > 0 || wall_clock > Duration::zero();
  }
};

// What a million tokens cost, 0 to 1e15, in any currency; the same one for a whole tree.
struct Prices {
  double prompt = 0;
  double completion = 0;
  std::optional<double> cached_prompt = {};  // of the prompt's tokens that were cached; empty: as `prompt`
};

// What that usage costs.
double cost_of(const Usage& usage, const Prices& prices) noexcept;

// What was used of a budget since it was granted.
struct Spent {
  std::uint64_t turns = 0;
  std::uint64_t tokens = 0;
  double cost = 0;
  std::uint64_t tokens_reserved = 0;  // by calls that are open
};

// The result of a grant. When it is refused, the old budget stays, with what was used of it.
struct [[nodiscard]] GrantResult {
  bool granted = false;
  // `agent_not_found`, `runtime_gone`, `out_of_memory`, or `invalid_config` when a number is out of range.
  Errc reason = Errc::none;
  std::string message = {};  // why; for `invalid_config` with the field, its value and the range

  explicit operator bool() const noexcept { return granted; }
};

}  // namespace agentcore
