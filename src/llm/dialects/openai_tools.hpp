// How both dialects of OpenAI offer tools to the model.
#pragma once

#include "llm/dialects/request_body.hpp"

#include <agentcore/chat.hpp>

#include <string>

namespace agentcore::detail::llm {

// Sets "tools", "tool_choice" and "parallel_tool_calls" if the request sets them. The dialects differ in
// `tool_text`, which writes one entry of "tools", and in `named`, which writes the choice of the tool of that
// name.
void set_openai_tools(RequestBody& body, const ChatRequest& request,
                      std::string (*tool_text)(const ToolDescription& tool),
                      std::string (*named)(const std::string& name));

}  // namespace agentcore::detail::llm
