// CodeRegistry: names of code, and copies that do not share what is added later.
#include "support/catch.hpp"

#include <agentcore/agent.hpp>
#include <agentcore/agent_spec.hpp>
#include <agentcore/code_registry.hpp>
#include <agentcore/message.hpp>

#include <stdexcept>
#include <string>

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

TEST_CASE("a code registry refuses an empty name and empty code", "[persist][registry]") {
  CodeRegistry registry;
  CHECK_THROWS_AS(registry.add_handler("", [](const Agent&, const Message&) {}), std::invalid_argument);
  CHECK_THROWS_AS(registry.add_handler("a", {}), std::invalid_argument);
  AgentSpec spec;
  spec.code.handler = "a";
  CHECK(registry.bind(spec) == "handler 'a'");
}
