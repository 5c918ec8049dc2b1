#include "core/validate.hpp"

#include <agentcore/stop_audit.hpp>

#include <algorithm>

namespace agentcore {

using detail::core::saturating_sum;

std::uint64_t StopRecord::tokens_counted() const noexcept {
  std::uint64_t sum = 0;
  for (const CutOperation& operation : operations) sum = saturating_sum(sum, operation.tokens_counted);
  return sum;
}

std::uint64_t StopRecord::tokens_at_most() const noexcept {
  std::uint64_t sum = 0;
  for (const CutOperation& operation : operations)
    sum = saturating_sum(sum, std::max(operation.tokens_counted, operation.tokens_reserved));
  return sum;
}

}  // namespace agentcore
