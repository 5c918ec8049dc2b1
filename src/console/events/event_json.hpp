// Events of a tree as JSON objects.
#pragma once

#include "console/events/json.hpp"

#include <agentcore/event.hpp>

#include <string_view>

namespace agentcore::detail::console {

// {"type":..., and the members of that type}. Null for the events that the console does not send as they are:
// AgentCreated, whose object has the agent; DeltaReceived and ReasoningReceived, which are merged; and those
// that no viewer needs.
Json to_json(const Event& event);

// The word of the protocol for a DropReason: "queue_cleared" for `queue_dropped`, else its name.
std::string_view drop_word(DropReason reason) noexcept;

}  // namespace agentcore::detail::console
