// Calls whose arguments never came.
#include "support/drive/tool_turn.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

constexpr const char* told =
    "the call has no arguments; write them as one JSON object, or {} to call the tool without any";

// A turn with tools that note their arguments.
struct Missing : ToolTurn {
  std::vector<std::string> ran;

  void tool(std::string name, std::string parameters) {
    tools->add(make_tool({.name = name, .parameters = std::move(parameters)},
                         [this, name](const nlohmann::json& arguments, const ToolContext&) {
                           ran.push_back(name + " " + arguments.dump());
                           return ToolResult::done("ok");
                         }));
  }
  // The agent is asked, and the model calls that tool with these arguments.
  void first(const std::string& name, const std::string& arguments, AgentSpec spec = {}) {
    ask(agent(std::move(spec)));
    call({{"c1", name, arguments}});
  }
  const ToolCallRecord& last_call() {
    answer("done");
    return result->calls.back();
  }
};

constexpr const char* optional = R"({"type":"object","properties":{"city":{"type":"string"}}})";
constexpr const char* required =
    R"({"type":"object","properties":{"city":{"type":"string"}},"required":["city"]})";

}  // namespace

TEST_CASE("a tool without parameters is called with {} where no arguments came", "[turn][tools][missing]") {
  for (const char* const parameters : {"", R"({"type":"object"})", R"({"type":"object","properties":{}})"})
    for (const char* const arguments : {"", " \n", "{}"}) {
      Missing t;
      t.tool("now", parameters);
      t.first("now", arguments);
      INFO(parameters << " '" << arguments << "'");
      CHECK(t.ran == std::vector<std::string>{"now {}"});
    }
}

TEST_CASE("a tool with a required argument does not begin where no arguments came",
          "[turn][tools][missing][X31]") {
  Missing t;
  t.tool("look", required);
  t.first("look", "");
  t.call({{"c2", "look", ""}});
  CHECK(t.ran.empty());
  CHECK(t.last_call().outcome == ToolOutcome::not_started);
  CHECK(t.result->calls.at(0).message == "the call has no arguments: params.city is required");
  CHECK(t.result->calls.at(1).message == "the call has no arguments: params.city is required");
}

TEST_CASE("a tool with optional arguments alone does not begin before the model was told that none came",
          "[turn][tools][missing][X31]") {
  for (const char* const parameters :
       {optional, R"({"anyOf":[{"type":"object"}]})", R"({"patternProperties":{"a":{}}})",
        R"({"$ref":"#/definitions/a","definitions":{"a":{"type":"object","properties":{"b":{}}}}})"}) {
    Missing t;
    t.tool("look", parameters);
    t.first("look", "");
    INFO(parameters);
    CHECK(t.ran.empty());
    CHECK(t.last_call().outcome == ToolOutcome::not_started);
    CHECK(t.last_call().message == told);
    CHECK(t.history() ==
          std::string("user:question, assistant:[look c1], tool:c1=error: ") + told + ", assistant:done");
  }
}

TEST_CASE("a model that was told writes its arguments, or none again", "[turn][tools][missing]") {
  for (const char* const second : {"{}", "", R"({"city":"A"})"}) {
    Missing t;
    t.tool("look", optional);
    t.first("look", "");
    t.call({{"c2", "look", second}});
    CHECK(t.ran == std::vector<std::string>{"look " + std::string(*second ? second : "{}")});
    CHECK(t.last_call().outcome == ToolOutcome::completed);
  }
}

TEST_CASE("a model is told for each tool and in each turn that no arguments came", "[turn][tools][missing]") {
  Missing t;
  t.tool("look", optional);
  t.tool("see", optional);
  t.ask(t.agent());
  t.call({{"c1", "look", ""}, {"c2", "look", ""}});  // both are of one answer
  t.call({{"c3", "see", ""}});
  CHECK(t.ran.empty());
  t.answer("done");
  t.ask(t["a"]);
  t.call({{"c4", "look", ""}});
  CHECK(t.ran.empty());
  CHECK(t.last_call().message == told);
}

TEST_CASE("{} is arguments", "[turn][tools][missing]") {
  Missing t;
  t.tool("look", optional);
  t.first("look", "{}");
  CHECK(t.ran == std::vector<std::string>{"look {}"});
}

TEST_CASE("a call in the background does not begin without arguments, either", "[turn][tools][missing]") {
  Missing t;
  t.tools->add(make_tool({.name = "look", .parameters = optional, .mode = ToolMode::async},
                         [&](const nlohmann::json&, const ToolContext&) {
                           t.ran.emplace_back("look");
                           return ToolResult::done("ok");
                         }));
  t.first("look", "", {.limits = {.background_tasks = 1}});
  CHECK(t.ran.empty());
  CHECK(t.last_call().message == told);
}

TEST_CASE("params that are left out of a block are {}, and others that are no object are none",
          "[turn][tools][missing][J5][J11]") {
  const auto ran = [](const std::string& params) {
    Missing t;
    t.tool("look", optional);
    t.tool("now", "");
    t.ask(t.agent({.tool_protocol = ToolProtocol::text}));
    t.answer(R"(<tool_call>{"calls":[{"window_id":"tools","action_id":"look")" + params +
             R"(},{"window_id":"tools","action_id":"now")" + params + "}]}</tool_call>");
    return t.ran;
  };
  using Ran = std::vector<std::string>;
  CHECK(ran("") == Ran{"look {}", "now {}"});
  CHECK(ran(R"(,"params":null)") == Ran{"look {}", "now {}"});
  CHECK(ran(R"(,"params":{})") == Ran{"look {}", "now {}"});
  for (const char* const odd : {R"(,"params":"{\"city\":")", R"(,"params":[1])", R"(,"params":7)"})
    CHECK(ran(odd) == Ran{"now {}"});
}

TEST_CASE("what a tool gets is what the history has", "[turn][tools][G8]") {
  Missing t;
  t.tool("look", R"({"type":"object","properties":{"b":{},"a":{}}})");
  std::string started;
  const Subscription seen =
      t.tree->on<ToolStarted>([&](const ToolStarted& event) { started = event.arguments; });
  t.first("look", "{ \"b\" : 1e3, \"a\":36893488147419103232, \"b\": 2.50 }");
  REQUIRE(t.ran.size() == 1);
  const std::string kept = t["a"].conversation().value().at(1).tool_calls()[0].arguments;
  CHECK(kept == R"({"a":3.6893488147419103e+19,"b":2.5})");
  CHECK(t.ran[0] == "look " + kept);
  CHECK(started == kept);
}
