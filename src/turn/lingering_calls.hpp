// LingeringCalls: calls that go on after their turn was interrupted.
#pragma once

#include "turn/environment.hpp"

#include <cstddef>
#include <cstdint>

namespace agentcore::detail::turn {

// The stop tokens of such calls were triggered, and their outcomes are not needed any more. The agent works
// on. Each call is given up after the grace period; of more than TreeOptions::max_lingering_calls the oldest
// at once. A stop of the agent waits for them as for any operation. All @loop_thread.
class LingeringCalls {
 public:
  explicit LingeringCalls(Environment& environment) : environment_(environment) {}

  // The turn with that number was interrupted: starts the grace period of its calls that are in flight.
  void watch(core::Node& node, std::uint64_t turn) noexcept;
  // Gives up an operation that is registered: its outcome will be dropped.
  void give_up(OperationId id) noexcept;

 private:
  void start_grace(OperationId id) noexcept;
  bool give_up_oldest(core::Node& node) noexcept;

  Environment& environment_;
};

}  // namespace agentcore::detail::turn
