// Events of a tree as JSON objects.
#pragma once

#include "console/events/json.hpp"

#include <agentcore/event.hpp>

namespace agentcore::detail::console {

// {"type":..., and the members of that type}. Null for the events that the console does not send as they are:
// AgentCreated, whose object has the agent; DeltaReceived and ReasoningReceived, which are merged; and those
// that no viewer needs.
Json to_json(const EventBody& event);

}  // namespace agentcore::detail::console
