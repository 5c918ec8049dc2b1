#include "llm/router/token_bucket.hpp"

#include "loop/time.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <new>

namespace agentcore::detail::llm {
namespace {

constexpr Duration minute = std::chrono::minutes(1);
constexpr Duration grain = minute / 64;            // lows that differ by less are merged
constexpr Duration most = std::chrono::hours(24);  // the highest cost of one call; far from any overflow

}  // namespace

TimePoint TokenBucket::ready_at(std::uint64_t amount, TimePoint now) const noexcept {
  const Duration room = minute - std::min(cost(amount), minute);  // room that it leaves in a full bucket
  return std::max(now, full_at_ - room);
}

std::uint64_t TokenBucket::take(std::uint64_t amount, TimePoint now) noexcept {
  ++taken_;
  note_owed(std::max(full_at_ - now, Duration(0)));
  full_at_ = loop::later(std::max(full_at_, now), cost(amount));
  return taken_;
}

void TokenBucket::give_back(std::uint64_t amount, std::uint64_t number, TimePoint now) noexcept {
  Duration back = std::min(cost(amount), std::max(full_at_ - now, Duration(0)));
  const auto later = std::ranges::find_if(lows_, [number](const Low& low) { return low.number > number; });
  if (later != lows_.end()) back = std::min(back, later->owed);
  full_at_ -= back;
  if (later == lows_.end()) return;
  // Lowers the earlier debts, too, or the next call that returns a part would be credited the same time.
  std::for_each(later, lows_.end(), [back](Low& low) { low.owed -= back; });
  auto first = later;
  while (first != lows_.begin() && std::prev(first)->owed >= later->owed) --first;
  lows_.erase(first, later);
}

// Called before taking number `taken_`. An earlier higher low is obsolete once a lower one follows. Without
// memory the two are merged; without an earlier one, a taking may get more back than has not been refilled.
void TokenBucket::note_owed(Duration owed) noexcept {
  while (!lows_.empty() && lows_.back().owed >= owed) lows_.pop_back();
  if (!lows_.empty() && owed - lows_.back().owed < grain) {
    lows_.back().number = taken_;
    return;
  }
  try {
    lows_.push_back({taken_, owed});
  } catch (const std::bad_alloc&) {
    if (!lows_.empty()) lows_.back().number = taken_;
  }
}

// The time in which so much flows in, rounded down: a minute's worth must fit into the bucket.
Duration TokenBucket::cost(std::uint64_t amount) const noexcept {
  if (per_minute_ == 0) return Duration(0);
  const double nanoseconds =
      static_cast<double>(amount) / static_cast<double>(per_minute_) * static_cast<double>(minute.count());
  if (nanoseconds >= static_cast<double>(most.count())) return most;
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

void Allowance::learn(std::uint64_t left, std::optional<std::uint64_t> all, TimePoint now, TimePoint full,
                      TimePoint until) noexcept {
  left_ = static_cast<double>(left);
  all_ = std::max(left_, static_cast<double>(all.value_or(left)));
  const auto span = static_cast<double>((full - now).count());
  per_nanosecond_ = span > 0 ? (all_ - left_) / span : 0;
  since_ = now;
  until_ = until;
}

TimePoint Allowance::ready_at(std::uint64_t amount, TimePoint now) const noexcept {
  if (now >= until_) return now;
  const double wanted =
      per_nanosecond_ > 0 ? std::min(static_cast<double>(amount), all_) : static_cast<double>(amount);
  if (wanted <= left_) return now;
  if (per_nanosecond_ <= 0) return until_;
  const double wait = std::ceil((wanted - left_) / per_nanosecond_);
  if (wait >= static_cast<double>((until_ - since_).count())) return until_;
  return std::max(now, since_ + Duration(static_cast<Duration::rep>(wait)));
}

}  // namespace agentcore::detail::llm
