// The mark of an agent that was made for one task and goes after it, for the console.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/fwd.hpp>

#include <cstdint>

namespace agentcore::detail::core {

// Sets or removes the mark, which a store keeps. Nothing happens if the agent is gone. Defined in src/tree.
// @loop_thread
AGENTCORE_INTERNAL_API void set_task_mark(const Agent& agent, bool marked) noexcept;
// False also if the agent is gone. @loop_thread
AGENTCORE_INTERNAL_API bool has_task_mark(const Agent& agent) noexcept;
// How many turns the agent has begun, those before a restart included; 0 if it is gone. @loop_thread
AGENTCORE_INTERNAL_API std::uint64_t turns_begun(const Agent& agent) noexcept;
// A message waits that was steered, and that no queue has yet; false if the agent is gone. @loop_thread
AGENTCORE_INTERNAL_API bool has_steered(const Agent& agent) noexcept;

}  // namespace agentcore::detail::core
