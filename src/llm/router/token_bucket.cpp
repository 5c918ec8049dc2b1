#include "llm/router/token_bucket.hpp"

#include "loop/time.hpp"

namespace agentcore::llm {
namespace {

constexpr Duration minute = std::chrono::minutes(1);
constexpr Duration most = std::chrono::hours(24);  // that one call can cost; far from any overflow

}  // namespace

TimePoint TokenBucket::ready_at(std::uint64_t amount, TimePoint now) const noexcept {
  const Duration room = minute - std::min(cost(amount), minute);  // that it leaves in a full bucket
  return std::max(now, full_at_ - room);
}

void TokenBucket::take(std::uint64_t amount, TimePoint now) noexcept {
  full_at_ = loop::later(std::max(full_at_, now), cost(amount));
}

// The time in which so much flows in, rounded down: a minute's worth must fit into the bucket.
Duration TokenBucket::cost(std::uint64_t amount) const noexcept {
  if (per_minute_ == 0) return Duration(0);
  const double nanoseconds =
      static_cast<double>(amount) / static_cast<double>(per_minute_) * static_cast<double>(minute.count());
  if (nanoseconds >= static_cast<double>(most.count())) return most;
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

}  // namespace agentcore::llm
