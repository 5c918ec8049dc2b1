#include "loop/poll_budget.hpp"

#include <bit>

namespace agentcore::detail::loop {

bool PollBudget::spend() noexcept {
  return take(used_ < 64 ? std::has_single_bit(used_) : used_ % 64 == 0);
}

bool PollBudget::spend_slow() noexcept {
  return take(used_ > 0);
}

bool PollBudget::take(bool reads_clock) noexcept {
  if (used_ == steps_ || (reads_clock && clock_.now() >= end_)) exhausted_ = true;
  if (exhausted_) return false;
  ++used_;
  return true;
}

}  // namespace agentcore::detail::loop
