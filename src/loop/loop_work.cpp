#include "loop/loop_work.hpp"

#include "loop/time.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::loop {

namespace {

// In the ids of boot timers. A queue has no slot with that number.
constexpr std::uint64_t boot_timer = std::uint64_t{1} << 31U;

}  // namespace

std::uint64_t LoopWork::add_timer(TimePoint when, std::function<void()> function, TimerUse use) {
  const TimePoint due = std::max(when, time_of(use));
  if (use != TimerUse::boot_watch) return timers.add(due, std::move(function), use);
  return boot_timers.add(due, std::move(function), TimerUse::watch) | boot_timer;
}

bool LoopWork::cancel_timer(std::uint64_t id) noexcept {
  return (id & boot_timer) != 0 ? boot_timers.cancel(id & ~boot_timer) : timers.cancel(id);
}

std::optional<TimePoint> LoopWork::next_timer() const noexcept {
  const std::optional<TimePoint> next = timers.next();
  const std::optional<TimePoint> boot = boot_timers.next();
  if (!boot) return next;
  const Duration left = *boot - clock.boot_time();  // first, so that the result is not too early
  return std::min(next.value_or(TimePoint::max()), later(clock.now(), left));
}

std::optional<Duration> LoopWork::until_next_timer() const noexcept {
  const TimePoint now = clock.now(), boot_now = clock.boot_time();
  const std::optional<TimePoint> next = timers.next_after(now);
  const std::optional<TimePoint> boot = boot_timers.next_after(boot_now);
  if (!next && !boot) return std::nullopt;
  return std::min(next ? *next - now : Duration::max(), boot ? *boot - boot_now : Duration::max());
}

bool LoopWork::has_ready() const {
  if (!found.empty() || !posts.empty()) return true;
  if (const auto next = timers.next(); next && *next <= clock.now()) return true;
  if (const auto next = boot_timers.next(); next && *next <= clock.boot_time()) return true;
  return sources.any_has_work();
}

bool LoopWork::is_idle() const {
  if (has_ready() || !timers.is_idle() || pending != 0) return false;
  return !sources.any_has_pending();
}

}  // namespace agentcore::detail::loop
