// How both dialects of OpenAI ask for calls of tools.
#pragma once

#include "llm/dialects/request_body.hpp"

#include <agentcore/chat.hpp>

#include <string>

namespace agentcore::llm {

// Sets "tools", "tool_choice" and "parallel_tool_calls" as far as the request says them. The dialects differ
// in `tool_text`, one entry of the first, and in `named`, a choice of the tool of that name.
void set_openai_tools(RequestBody& body, const ChatRequest& request,
                      std::string (*tool_text)(const ToolDescription& tool),
                      std::string (*named)(const std::string& name));

}  // namespace agentcore::llm
