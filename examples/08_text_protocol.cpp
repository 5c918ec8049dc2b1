// Windows, and tool calls as <tool_call> blocks in the answer, for models that have no function calls of
// their own: the model opens an application, works in its window and closes it.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

namespace {

using agentcore::ToolContext;
using agentcore::ToolResult;
using nlohmann::json;

// An application of the host: one window, whose action changes what it shows.
void open_notes(agentcore::ToolRegistry& tools) {
  agentcore::ToolSpec add;
  add.name = "add";
  add.description = "Adds a line.";
  add.parameters = R"({"type":"object","properties":{"text":{"type":"string"}},"required":["text"]})";
  agentcore::Window window;
  window.id = "notes";
  window.description = "A list of notes.";
  window.content = "(empty)";
  window.actions = {agentcore::make_tool(
      add, [&tools, list = std::string()](const json& arguments, const ToolContext&) mutable {
        list += "* " + arguments.at("text").get<std::string>() + "\n";
        tools.set_content("notes", list);
        return ToolResult::done("added");
      })};
  tools.open(std::move(window));
}

// Prints what is sent behind the messages: the windows as they are now, and what can be done with them.
void print_windows(const agentcore::ChatRequest& request) {
  std::printf("--- what the model sees\n%s\n", request.tail.c_str());
}

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  const char* const answers[] = {
      "I need the notes. "
      R"(<tool_call>{"calls":[{"window_id":"launcher","action_id":"open","params":{"app":"notes"}}]}</tool_call>)",
      R"(<tool_call>{"calls":[{"window_id":"notes","action_id":"add","params":{"text":"milk"}},)"
      R"({"window_id":"notes","action_id":"add","params":{"text":"bread"}}]}</tool_call>)",
      R"(<tool_call>{"calls":[{"window_id":"notes","action_id":"close","params":{"summary":"two notes"}}]}</tool_call>)",
      "I wrote down milk and bread."};
  std::size_t asked = 0;
  agentcore::testing::ScriptedClient llm{runtime, [&](const agentcore::ChatRequest& request) {
                                           print_windows(request);
                                           agentcore::testing::ScriptedReply reply;
                                           reply.deltas = {answers[asked++]};
                                           return reply;
                                         }};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};
  std::size_t steps = 0;
  bool completed = false;
  auto events = tree.on_event([&](const agentcore::Event& event) {
    auto* end = event.get<agentcore::TurnEnded>();
    if (!end || !end->result) return;
    completed = end->result->outcome == agentcore::TurnOutcome::completed;
    std::printf("--- what it did\n");
    for (const agentcore::ToolCallRecord& step : end->result->calls) {
      steps += step.success;
      std::printf("%s %s.%s: %s\n", step.call_id.c_str(), step.window_id.c_str(), step.tool.c_str(),
                  step.message.c_str());
    }
    std::printf("%s\n", end->result->text.c_str());
  });

  // [snippet: windows]
  const auto tools = std::make_shared<agentcore::ToolRegistry>(  // with a launcher
      [](agentcore::ToolRegistry& registry, const agentcore::Agent&, std::string_view app, std::string_view) {
        if (app == "notes") open_notes(registry);
      });
  agentcore::AgentSpec spec;
  spec.tools = tools;
  spec.tool_protocol = agentcore::ToolProtocol::text;
  const agentcore::Agent agent = tree.create(std::move(spec)).value();
  // [/snippet]
  if (!agent.send("Write down milk and bread.")) return 1;
  const bool idle = runtime.run_until_idle().is_idle();
  return idle && completed && steps == 4 && tools->windows().size() == 1 ? 0 : 1;
}
