// LeaseTimer: notices that a lease has run out while nothing else happens. @loop_thread
#pragma once

#include "tree/tree_shared.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/runtime.hpp>

#include <optional>

namespace agentcore::detail::tree {

// One timer for all leases, at the time of Clock::boot_time() when the first of them ends. A lease that was
// renewed meanwhile is found so when the timer ends.
class LeaseTimer {
 public:
  explicit LeaseTimer(TreeShared& tree) : tree_(tree) {}

  // Stops the agents whose leases have run out, and starts the timer for the next end. What it has no memory
  // for it requests again (Leases::request_check()).
  void update() noexcept;
  void clear() noexcept { timer_ = {}; }

 private:
  void start(TimePoint when);

  TreeShared& tree_;
  Timer timer_;
  std::optional<TimePoint> when_;  // of the timer; nothing: it does not run
};

}  // namespace agentcore::detail::tree
