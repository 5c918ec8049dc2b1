#include "persist/delayed_reads.hpp"

#include "loop/time.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace agentcore::detail::persist {

Duration wait_after(unsigned failures) noexcept {
  constexpr unsigned most_doublings = 6;  // 64 seconds
  constexpr Duration longest = std::chrono::minutes(1);
  return std::min<Duration>(std::chrono::seconds(1 << std::min(failures - 1, most_doublings)), longest);
}

void DelayedReads::add(core::NodeId agent, std::function<void()> on_end) {
  const bool is_first = agents_.empty();
  agents_.insert(agent);
  if (!is_first) return;
  try {
    const std::uint64_t timer = engine_.start_timer(loop::later(engine_.now(), wait_after(failures_ + 1)),
                                                    std::move(on_end), loop::TimerUse::watch);
    timer_ = Timer(engine_.weak_from_this(), timer);
    ++failures_;
  } catch (...) {
    agents_.clear();
    throw;
  }
}

std::unordered_set<core::NodeId> DelayedReads::take() noexcept {
  timer_ = {};
  return std::exchange(agents_, {});
}

}  // namespace agentcore::detail::persist
