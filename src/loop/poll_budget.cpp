#include "loop/poll_budget.hpp"

#include <algorithm>
#include <bit>

namespace agentcore::detail::loop {

bool PollBudget::spend_slow() noexcept {
  return take(used_ > 0);
}

bool PollBudget::take(bool reads_clock) noexcept {
  if (used_ == steps_ || (reads_clock && clock_.now() >= end_)) exhausted_ = true;
  if (!exhausted_) ++used_;
  next_check_ = exhausted_ ? used_ : next_check();
  return !exhausted_;
}

// A power of two up to 64, then a multiple of 64.
std::uint32_t PollBudget::next_check() const noexcept {
  constexpr std::uint32_t longest = 64;
  return std::min(steps_,
                  used_ <= longest ? std::bit_ceil(used_) : (used_ + longest - 1) / longest * longest);
}

}  // namespace agentcore::detail::loop
