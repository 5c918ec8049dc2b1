// CallAccount: usage and cost of all attempts of one call together.
#pragma once

#include <agentcore/chat.hpp>

#include <optional>

namespace agentcore::detail::llm {

class CallAccount {
 public:
  void add(const ChatOutcome& outcome) noexcept {
    usage_ += outcome.usage;
    if (outcome.cost)
      cost_ = cost_.value_or(0) + *outcome.cost;
    else if (outcome.usage.total_tokens != 0)
      is_cost_known_ = false;
  }
  // An attempt ended without its counts.
  void mark_incomplete() noexcept { usage_.complete = false; }
  void write(ChatOutcome& outcome) const {
    outcome.usage = usage_;
    outcome.cost = is_cost_known_ ? cost_ : std::nullopt;
  }

 private:
  Usage usage_;
  std::optional<double> cost_;
  bool is_cost_known_ = true;  // of all attempts that used tokens
};

}  // namespace agentcore::detail::llm
