// CodeRegistry: names of code, and copies that do not share what is added later.
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;

namespace {

// The handler that the registry has for "a": its number, or 0.
int handler_of(const CodeRegistry& registry, int& called) {
  AgentSpec spec;
  spec.code.handler = "a";
  if (!registry.bind(spec).empty()) return 0;
  called = 0;
  spec.handler(Agent(), Message());
  return called;
}

}  // namespace

TEST_CASE("a copy of a code registry keeps its own names", "[persist][registry]") {
  int called = 0;
  const auto handler = [&called](int number) {
    return [&called, number](const Agent&, const Message&) { called = number; };
  };
  CodeRegistry first;
  const CodeRegistry empty = first;
  first.add_handler("a", handler(1));
  CodeRegistry second = first;
  CHECK(handler_of(second, called) == 1);
  second.add_handler("a", handler(2));
  CHECK(handler_of(second, called) == 2);
  CHECK(handler_of(first, called) == 1);
  first.add_handler("a", handler(3));  // replaces it
  CHECK(handler_of(first, called) == 3);
  CHECK(handler_of(second, called) == 2);
  CHECK(handler_of(empty, called) == 0);
}

TEST_CASE("each kind of code has names of its own, and the last code of a name is the one that is bound",
          "[persist][registry]") {
  Runtime runtime;
  std::vector<std::unique_ptr<testing::ScriptedClient>> clients;
  std::vector<std::shared_ptr<ToolRegistry>> tools;
  int called = 0;
  CodeRegistry registry;
  // Twice, with the same names.
  for (int round = 0; round < 2; ++round) {
    for (const char* const name : {"same", "other"}) {
      clients.push_back(std::make_unique<testing::ScriptedClient>(runtime));
      registry.add_llm(name, clients.back().get());
    }
    tools.push_back(std::make_shared<ToolRegistry>());
    registry.add_tools("same", tools.back());
    registry.add_handler("same", [&called, round](const Agent&, const Message&) { called = 10 + round; });
    registry.add_tool_policy("same", [round](const ToolRequest&) {
      return ToolDecision{round == 0 ? Permission::allow : Permission::deny};
    });
    registry.add_token_counter("same", [round](std::string_view) { return static_cast<std::size_t>(round); });
  }
  AgentSpec spec;
  spec.code = {.llm = "same",
               .tools = "same",
               .handler = "same",
               .tool_policy = "same",
               .count_tokens = "same",
               .summary_llm = "other"};
  spec.context.compact.emplace();
  REQUIRE(registry.bind(spec).empty());
  CHECK(&*spec.llm == clients[2].get());
  CHECK(&*spec.context.compact->llm == clients[3].get());
  CHECK(&*spec.tools == tools[1].get());
  spec.handler(Agent(), Message());
  CHECK(called == 11);
  CHECK(spec.context.count_tokens("text") == 1);
  const ToolSpec tool{.name = "t"};
  const Agent nobody;
  CHECK(spec.tool_policy({nobody, {}, {}, tool, "{}"}).permission == Permission::deny);
  // What is bound stays, and each name that is missing is named with its kind.
  AgentSpec bound;
  bound.llm = clients[0].get();
  bound.code = {.llm = "same", .tools = "none", .tool_policy = "none", .summary_llm = "unused"};
  CHECK(registry.bind(bound) == "tools 'none'; tool_policy 'none'");
  CHECK(&*bound.llm == clients[0].get());
  bound.context.compact.emplace();
  CHECK(registry.bind(bound) == "tools 'none'; tool_policy 'none'; summary_llm 'unused'");
}

TEST_CASE("a code registry refuses an empty name and empty code", "[persist][registry]") {
  CodeRegistry registry;
  CHECK_THROWS_AS(registry.add_handler("", [](const Agent&, const Message&) {}), std::invalid_argument);
  CHECK_THROWS_AS(registry.add_handler("a", {}), std::invalid_argument);
  AgentSpec spec;
  spec.code.handler = "a";
  CHECK(registry.bind(spec) == "handler 'a'");
}
