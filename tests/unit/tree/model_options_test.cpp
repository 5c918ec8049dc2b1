// What create() refuses of what a spec says about model calls.
#include "support/drive/tree_fixture.hpp"

#include <limits>
#include <memory>
#include <string>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Refused as a root and as a child, with a message that names the field.
void check_refused(const AgentSpec& spec, const std::string& field) {
  INFO(field);
  TreeFixture t;
  const Agent parent = t.root("parent");
  for (const Result<Agent>& made : {t.tree->create(spec), parent.create_child(spec)}) {
    REQUIRE_FALSE(made);
    CHECK(made.error().code == Errc::invalid_config);
    CHECK(made.error().message.find("AgentSpec::model." + field) != std::string::npos);
  }
  CHECK(t.tree->size() == 1);
}

ResponseFormat with_schema(std::string schema, std::string name = "") {
  return {ResponseFormat::Kind::json_schema, std::move(name), std::move(schema)};
}

}  // namespace

TEST_CASE("a temperature that no provider takes is refused when the agent is created", "[tree]") {
  for (const double bad :
       {9.0, 2.0001, -0.1, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    check_refused({.model = {.temperature = bad}}, "temperature");
  TreeFixture t;
  for (const double good : {0.0, -0.0, 1.0, 2.0}) CHECK(t.tree->create({.model = {.temperature = good}}));
}

TEST_CASE("an answer limit of 0 tokens is refused when the agent is created", "[tree]") {
  check_refused({.model = {.max_tokens = 0}}, "max_tokens is 0; it must be at least 1");
  TreeFixture t;
  CHECK(t.tree->create({.model = {.max_tokens = 1}}));
  CHECK(t.tree->create(AgentSpec{}));
}

TEST_CASE("a broken or empty schema of answers is refused when the agent is created", "[tree]") {
  for (const char* bad : {"", "  ", "{}", "{ }", "[]", "[{}]", "null", "7", "\"text\"", "{\"type\":}",
                          "{\"a\":1} x", "{\"a\":\"\xff\"}"}) {
    INFO(bad);
    check_refused({.model = {.response_format = with_schema(bad)}}, "response_format.schema");
  }
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += R"({"a":)";
  check_refused({.model = {.response_format = with_schema(deep + "1" + std::string(100, '}'))}},
                "response_format.schema");
  TreeFixture t;
  CHECK(t.tree->create({.model = {.response_format = with_schema(R"( {"type":"object"} )")}}));
  CHECK(t.tree->create({.model = {.response_format = {.kind = ResponseFormat::Kind::json_object}}}));
}

TEST_CASE("a schema of answers that cannot be checked is refused unless it is not validated", "[tree][X52]") {
  for (const char* bad :
       {R"({"type":7})", R"({"properties":[]})", R"({"$ref":"https://example.com/a.json"})"}) {
    INFO(bad);
    ResponseFormat format = with_schema(bad);
    check_refused({.model = {.response_format = format}}, "response_format.schema: not a usable schema: ");
    format.validate = false;
    TreeFixture t;
    CHECK(t.tree->create({.model = {.response_format = format}}));
    auto shared = std::make_shared<AgentSpec>();
    shared->model.response_format = with_schema(bad);
    CHECK_FALSE(t.tree->create(shared));
    CHECK_FALSE(t.root("parent").create_child(shared));
    CHECK(t.tree->size() == 2);
  }
}

TEST_CASE("an invalid schema name or tool choice is refused when the agent is created", "[tree]") {
  const std::string schema = R"({"type":"object"})";
  for (const std::string& bad : {std::string("two words"), std::string("a.b"), std::string(65, 'x')})
    check_refused({.model = {.response_format = with_schema(schema, bad)}}, "response_format.name");
  check_refused({.model = {.tool_choice = {ToolChoice::Mode::named, ""}}}, "tool_choice");
  TreeFixture t;
  CHECK(t.tree->create({.model = {.response_format = with_schema(schema, std::string(64, 'x'))}}));
  CHECK(t.tree->create({.model = {.tool_choice = {ToolChoice::Mode::named, "look"}}}));
}
