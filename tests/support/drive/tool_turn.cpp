#include "support/drive/tool_turn.hpp"

#include "platform/await_readable.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

namespace agentcore::test {

using nlohmann::json;

ToolStart HeldTool::start() {
  return [this](const json& arguments, const ToolContext& context, ToolDone done) {
    calls.push_back({arguments, context, std::move(done)});
  };
}

ToolTurn::ToolTurn(TreeOptions options) : TreeFixture(options) {
  ToolSpec add;
  add.name = "add";
  add.description = "Adds two numbers.";
  add.parameters =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]})";
  tools->add(make_tool(add, [](const json& arguments, const ToolContext&) {
    return ToolResult::done(std::to_string(arguments.at("a").get<int>() + arguments.at("b").get<int>()));
  }));
  tools->add({{.name = "held"}, held.start()});
  tools->add(make_tool({.name = "throws"}, [](const json&, const ToolContext&) -> ToolResult {
    throw std::runtime_error("boom");
  }));
  ends = tree->on_event([this](const Event& event) {
    const auto* ended = event.get<TurnEnded>();
    if (!ended) return;
    result = ended->result;
    error = ended->result->error;
  });
}

Agent ToolTurn::agent(AgentSpec spec) {
  spec.tools = tools;
  return root("a", std::move(spec));
}

void ToolTurn::call(std::vector<ToolCall> calls, std::string_view text) {
  llm->call_tools("a", std::move(calls), text);
  settle();
}

void ToolTurn::answer(std::string_view text) {
  llm->answer("a", text);
  settle();
}

bool ToolTurn::drive(const std::function<bool()>& done) {
  for (int i = 0; i < 1000 && !done(); ++i) {
    while (runtime->poll()) {
    }
    const int watched = runtime->poll_descriptor();
    if (!done()) detail::platform::await_readable(watched, std::chrono::seconds(10));
  }
  return done();
}

ToolCall add_call(std::string id, int a, int b) {
  return {std::move(id), "add", json{{"a", a}, {"b", b}}.dump(), {}};
}

}  // namespace agentcore::test
