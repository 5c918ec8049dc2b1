// DelayedReads: the agents whose conversations could not be read, and are read again later.
#pragma once

#include "core/node.hpp"
#include "loop/engine.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/runtime.hpp>

#include <functional>
#include <unordered_set>

namespace agentcore::detail::persist {

// How long to wait after so many failures in a row: one second, two, four, ..., at most a minute.
Duration wait_after(unsigned failures) noexcept;

// One wait is for all of them. @loop_thread
class DelayedReads {
 public:
  explicit DelayedReads(loop::Engine& engine) noexcept : engine_(engine) {}

  // Calls on_end() on the loop thread when the wait is over, unless one is in progress already. Throws
  // std::bad_alloc; then the agent is not added.
  void add(core::NodeId agent, std::function<void()> on_end);
  bool contains(core::NodeId agent) const noexcept {
    return !agents_.empty() && agents_.find(agent) != agents_.end();
  }
  // The next wait is a short one: the store can be read.
  void end_failures() noexcept { failures_ = 0; }
  // The wait is over: returns the agents, and forgets them.
  std::unordered_set<core::NodeId> take() noexcept;

 private:
  loop::Engine& engine_;
  std::unordered_set<core::NodeId> agents_;
  Timer timer_;
  unsigned failures_ = 0;  // waits in a row
};

}  // namespace agentcore::detail::persist
