#include "tree/lease_timer.hpp"

namespace agentcore::detail::tree {

void LeaseTimer::update() noexcept {
  if (tree_.table.leases().size() == 0) return;
  const std::optional<TimePoint> next = tree_.table.leases().check_all();
  if (!next || (when_ && *when_ <= *next)) return;
  if (!tree_.engine->guarded("the timer of a lease", [&] { start(*next); }))
    tree_.table.leases().request_check();
}

void LeaseTimer::start(TimePoint when) {
  const auto end = [this] {
    const LoopEntry entry(tree_.lifetime);
    when_.reset();
    update();
  };
  const std::uint64_t timer = tree_.engine->start_timer(when, end, loop::TimerUse::boot_watch);
  timer_ = Timer(tree_.engine->weak_from_this(), timer);
  when_ = when;
}

}  // namespace agentcore::detail::tree
