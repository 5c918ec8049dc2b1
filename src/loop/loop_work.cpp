#include "loop/loop_work.hpp"

namespace agentcore::detail::loop {

bool LoopWork::has_ready() const {
  if (!ready.empty() || !posts.empty()) return true;
  if (const auto next = timers.next(); next && *next <= state.now()) return true;
  return sources.any_has_work();
}

bool LoopWork::is_idle() const {
  if (has_ready() || !timers.is_idle() || pending != 0) return false;
  return !sources.any_has_pending();
}

}  // namespace agentcore::detail::loop
