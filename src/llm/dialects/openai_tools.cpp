#include "llm/dialects/openai_tools.hpp"

namespace agentcore::detail::llm {

void set_openai_tools(RequestBody& body, const ChatRequest& request,
                      std::string (*tool_text)(const ToolDescription& tool),
                      std::string (*named)(const std::string& name)) {
  if (request.tools.empty()) return;
  body.set("tools", json_list(request.tools, tool_text));
  switch (request.tool_choice.mode) {
    case ToolChoice::Mode::automatic:
      break;
    case ToolChoice::Mode::none:
      body.set_text("tool_choice", "none");
      break;
    case ToolChoice::Mode::required:
      body.set_text("tool_choice", "required");
      break;
    case ToolChoice::Mode::named:
      body.set("tool_choice", named(request.tool_choice.name));
      break;
  }
  if (request.parallel_tool_calls)
    body.set("parallel_tool_calls", std::string(*request.parallel_tool_calls ? "true" : "false"));
}

}  // namespace agentcore::detail::llm
