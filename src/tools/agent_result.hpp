// What the model that called an agent as a tool reads about the end of that call.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/message.hpp>
#include <agentcore/tool.hpp>

namespace agentcore::detail::tools {

// The result of a call whose message to `child` has ended. No reason that a person gave for a verb is in it
// (G11). Without memory the text is empty.
ToolResult result_of(const MessageEnd& end, const Agent& child) noexcept;

// The result of a call whose message was refused.
ToolResult refused_by_agent(Errc reason);

}  // namespace agentcore::detail::tools
