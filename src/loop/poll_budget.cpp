#include "loop/poll_budget.hpp"

#include <bit>

namespace agentcore::detail::loop {

bool PollBudget::spend() noexcept {
  const bool look = used_ < 64 ? std::has_single_bit(used_) : used_ % 64 == 0;
  if (used_ == steps_ || (look && clock_.now() >= end_)) exhausted_ = true;
  if (exhausted_) return false;
  ++used_;
  return true;
}

}  // namespace agentcore::detail::loop
