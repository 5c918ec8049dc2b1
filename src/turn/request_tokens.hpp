// Counts of tokens for budgets, by the agent's TokenCounter; if it throws, by the library's own estimate.
#pragma once

#include "loop/engine.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/chat.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace agentcore::detail::turn {

// Each calls the host's TokenCounter, if there is one. @loop_thread
std::uint64_t text_tokens(loop::Engine& engine, const AgentSpec& spec, std::string_view text);
std::uint64_t call_tokens(loop::Engine& engine, const AgentSpec& spec, const std::vector<ToolCall>& calls);
// Of the whole prompt: messages, images and descriptions of tools.
std::uint64_t request_tokens(loop::Engine& engine, const AgentSpec& spec, const ChatRequest& request);

}  // namespace agentcore::detail::turn
