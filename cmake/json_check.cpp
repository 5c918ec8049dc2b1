// find_package(agentcore) compiles and links this with the nlohmann-json of the project.
#include <agentcore/tool.hpp>

int main() {
  const agentcore::Tool tool = agentcore::make_tool(
      {.name = "check"},
      [](const nlohmann::json&, const agentcore::ToolContext&) { return agentcore::ToolResult::done(""); });
  return tool.spec.name.empty() ? 1 : 0;
}
