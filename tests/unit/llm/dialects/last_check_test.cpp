// What servers would refuse is changed in the request, before it is written.
#include "llm/dialects/last_check.hpp"

#include "support/catch.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <agentcore/chat.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using detail::llm::BodyDefaults;
using detail::llm::last_check;
using detail::llm::Repairs;

namespace {

ChatRequest request_of(std::vector<ChatMessage> messages) {
  ChatRequest request;
  request.messages = std::move(messages);
  return request;
}

// Of a request with one call of that name and with these arguments.
ChatRequest called(std::string name, std::string arguments) {
  return request_of({ChatMessage::user("q"), answer("", {{"c1", std::move(name), std::move(arguments)}}),
                     result("c1", "r")});
}

std::string name_sent(std::string name, const BodyDefaults& defaults = {}) {
  ChatRequest request = called(std::move(name), "{}");
  last_check(request, Dialect::openai_chat, defaults);
  return request.messages[1].tool_calls()[0].name;
}

std::string arguments_sent(std::string arguments) {
  ChatRequest request = called("look", std::move(arguments));
  last_check(request, Dialect::openai_chat, {});
  return request.messages[1].tool_calls()[0].arguments;
}

std::string schema_sent(std::string schema) {
  ChatRequest request;
  request.tools = {{"look", "", std::move(schema)}};
  last_check(request, Dialect::openai_chat, {});
  return request.tools[0].parameters;
}

std::vector<std::string> words_sent(std::vector<ChatMessage> messages, Dialect dialect = Dialect::openai_chat,
                                    const BodyDefaults& defaults = {}) {
  ChatRequest request = request_of(std::move(messages));
  last_check(request, dialect, defaults);
  std::vector<std::string> words;
  for (const ChatMessage& message : request.messages)
    words.push_back(std::string(to_string(message.role)) + ": " + message.content());
  return words;
}

using Words = std::vector<std::string>;

const BodyDefaults bridging = {.bridge_tool_results = true};

}  // namespace

TEST_CASE("a request that the server takes is not changed", "[llm][dialects]") {
  ChatRequest request =
      maximal_request({ChatMessage::system("s"), ChatMessage::user("q"),
                       answer("", {{"c1", "look", R"({"a":1})"}, {"c2", "look-2", "{ }"}}), result("c1", "1"),
                       result("c2", "2"), answer("words"), ChatMessage::user("q2")});
  request.stable_messages = 7;
  request.sent_before = {2, 5};
  const ChatRequest before = request;
  for (const Dialect dialect :
       {Dialect::openai_chat, Dialect::openai_responses, Dialect::anthropic_messages}) {
    CHECK_FALSE(last_check(request, dialect, bridging).any());
    CHECK(request.messages == before.messages);
    CHECK(request.tools == before.tools);
    CHECK(request.stable_messages == before.stable_messages);
    CHECK(request.sent_before == before.sent_before);
  }
}

TEST_CASE("an invented name of a tool is sent as a similar one", "[llm][dialects]") {
  CHECK(name_sent("functions.get weather") == "functions_get_weather");
  CHECK(name_sent("<|channel|>") == "__channel__");
  CHECK(name_sent("\xC3\xA9t\xC3\xA9") == "__t__");
  CHECK(name_sent(std::string(80, 'a')) == std::string(64, 'a'));
  CHECK(name_sent(std::string(64, 'a')) == std::string(64, 'a'));
  CHECK(name_sent("") == "_");
  CHECK(name_sent("1st-way_") == "1st-way_");
  const BodyDefaults letter = {.tool_names_begin_with_letter = true, .shortest_tool_name = 3};
  CHECK(name_sent("1st", letter) == "_1st");
  CHECK(name_sent("-a", letter) == "_-a");
  CHECK(name_sent("a", letter) == "a__");
  CHECK(name_sent("_a1", letter) == "_a1");
  CHECK(name_sent("1" + std::string(63, 'a'), letter) == "_1" + std::string(62, 'a'));
}

TEST_CASE("offered tools whose names would be sent alike get names that differ", "[llm][dialects]") {
  using Names = std::vector<std::string>;
  const auto sent = [](const Names& own, const BodyDefaults& defaults = {}) {
    ChatRequest request;
    for (const std::string& name : own) request.tools.push_back({name, "", ""});
    const Repairs repairs = last_check(request, Dialect::openai_chat, defaults);
    CHECK_FALSE(last_check(request, Dialect::openai_chat, defaults).any());
    Names names;
    for (const ToolDescription& tool : request.tools) names.push_back(tool.name);
    CHECK(repairs.tools.size() ==
          static_cast<std::size_t>(std::ranges::count_if(own, [&names](const std::string& name) {
            return std::ranges::find(names, name) == names.end();
          })));
    return names;
  };
  const BodyDefaults letter = {.tool_names_begin_with_letter = true, .shortest_tool_name = 3};
  CHECK(sent({"look", "win__open"}, letter) == Names{"look", "win__open"});
  CHECK(sent({"1st"}, letter) == Names{"_1st"});
  CHECK(sent({"a"}, letter) == Names{"a__"});
  const Names digits = sent({"1st", "_1st"}, letter);
  CHECK(digits[0].starts_with("_1st_"));
  CHECK(digits[0].size() == 13);
  CHECK(digits[1] == "_1st");
  const Names shorts = sent({"a", "a_"}, letter);  // neither is the other's
  CHECK(shorts[0].starts_with("a___"));
  CHECK(shorts[1].starts_with("a___"));
  CHECK(shorts[0] != shorts[1]);
  CHECK(sent({"a_", "a"}, letter) == Names{shorts[1], shorts[0]});
  const std::string long_name(80, 'n');
  const Names longs = sent({long_name + "1", long_name + "2"});
  CHECK(longs[0] != longs[1]);
  CHECK(longs[0].size() == 64);
  CHECK(longs[1].size() == 64);
  CHECK(sent({"a b", digits[0]})[0] == "a_b");
  const std::string hashed = sent({"a b", "a.b"})[0];
  CHECK(sent({"a b", "a.b", hashed})[0] != hashed);  // another tool has that very name
}

TEST_CASE("arguments that are no object are sent as an empty one", "[llm][dialects]") {
  for (const char* const broken : {"", " ", "{", "[]", "null", "\"a\"", "{} {}", "{\"a\":}"})
    CHECK(arguments_sent(broken) == "{}");
  CHECK(arguments_sent(R"( {"b": 1, "a": [ ]} )") == R"( {"b": 1, "a": [ ]} )");
  CHECK(arguments_sent("{\"a\":\"\xFF\"}") == "{\"a\":\"\xFF\"}");  // mended where it is written
}

TEST_CASE("an empty message is left out, or says that it is empty", "[llm][dialects]") {
  const ChatMessage q = ChatMessage::user("q"), empty = ChatMessage::user(" \n");
  CHECK(words_sent({ChatMessage::system(""), q, answer(" "), q}) == Words{"user: q", "user: q"});
  CHECK(words_sent({q, empty, answer("a"), q}) == Words{"user: q", "assistant: a", "user: q"});
  CHECK(words_sent({empty, answer("a"), q}) == Words{"user: (empty message)", "assistant: a", "user: q"});
  CHECK(words_sent({q, answer("a"), empty, answer("b"), q}) ==
        Words{"user: q", "assistant: a", "user: (empty message)", "assistant: b", "user: q"});
  const ChatMessage calls = answer(" ", {{"c1", "look", "{}"}});
  CHECK(words_sent({q, calls, result("c1", "")}) == Words{"user: q", "assistant: ", "tool: (no output)"});
  CHECK(words_sent({q, calls, result("c1", "")}, Dialect::anthropic_messages) ==
        Words{"user: q", "assistant: ", "tool: "});
  CHECK(words_sent({ChatMessage::user(" ", two_pictures())}) == Words{"user: "});
}

TEST_CASE("an answer stands between the result of a tool and a user message", "[llm][dialects]") {
  const ChatMessage q = ChatMessage::user("q");
  const std::vector<ChatMessage> steered = {q, answer("", {{"c1", "look", "{}"}}), result("c1", "r"), q};
  const Words bridged = {"user: q", "assistant: ", "tool: r", "assistant: OK.", "user: q"};
  CHECK(words_sent(steered, Dialect::openai_chat, bridging) == bridged);
  CHECK(words_sent(steered, Dialect::openai_responses, bridging) == bridged);
  CHECK(words_sent(steered, Dialect::openai_chat).size() == 4);
  CHECK(words_sent(steered, Dialect::anthropic_messages, bridging).size() == 4);
  // An empty answer that is left out leaves the same place.
  std::vector<ChatMessage> empty = steered;
  empty.insert(empty.end() - 1, answer(""));
  CHECK(words_sent(empty, Dialect::openai_chat, bridging) == bridged);
}

TEST_CASE("the numbers of messages are those of the messages that are sent", "[llm][dialects]") {
  const ChatMessage q = ChatMessage::user("q");
  ChatRequest request =
      request_of({q, answer(""), q, answer("", {{"c1", "look", "{}"}}), result("c1", "r"), q});
  request.sent_before = {1, 2, 3, 5};
  request.stable_messages = 6;
  const Repairs repairs = last_check(request, Dialect::openai_chat, bridging);
  CHECK(repairs == Repairs{.left_out = 1, .bridges = 1});
  REQUIRE(request.messages.size() == 6);
  // What an earlier request ended with: question, (left out), question, result.
  CHECK(request.sent_before == std::vector<std::size_t>{1, 2, 4});
  CHECK(request.stable_messages == 6);
  request.stable_messages = 100;
  request.messages.push_back(answer(""));
  last_check(request, Dialect::openai_chat, bridging);
  CHECK(request.stable_messages == 6);
}

TEST_CASE("the schema of an object has a type and properties", "[llm][dialects]") {
  CHECK(schema_sent(R"({"type":"object"})") == R"({"type":"object","properties":{}})");
  CHECK(schema_sent(R"({ "type": "object", "additionalProperties": false } )") ==
        R"({ "type": "object", "additionalProperties": false ,"properties":{}} )");
  CHECK(schema_sent(R"({"type":"object","properties":null,"x":1})") ==
        R"({"type":"object","properties":{},"x":1})");
  CHECK(schema_sent(R"({"properties":{"b":{},"a":{}}})") ==
        R"({"type":"object","properties":{"b":{},"a":{}}})");
  CHECK(schema_sent(R"({"properties":[]})") == R"({"type":"object","properties":{}})");
  // Whole ones, others, and what the writers complete.
  for (const char* const same : {R"({"type":"object","properties":{}})", R"({"$ref":"#/a"})",
                                 R"({"type":"array"})", "{}", "", "nonsense"})
    CHECK(schema_sent(same) == same);
}

TEST_CASE("the schemas within a schema are completed, too", "[llm][dialects]") {
  const auto value_sent = [](const std::string& value) {
    const std::string before = R"({"type":"object","properties":{"a":)", after = R"(},"x":1})";
    const std::string sent = schema_sent(before + value + after);
    REQUIRE(sent.starts_with(before));
    REQUIRE(sent.ends_with(after));
    return sent.substr(before.size(), sent.size() - before.size() - after.size());
  };
  CHECK(value_sent(R"({"type":"array"})") == R"({"type":"array","items":{}})");
  CHECK(value_sent(R"({"type":["null","array"],"items":null})") == R"({"type":["null","array"],"items":{}})");
  CHECK(value_sent(R"({"type":"object","description":"Any."})") ==
        R"({"type":"object","description":"Any.","properties":{}})");
  CHECK(value_sent(R"({"properties":{"b":{}}})") == R"({"properties":{"b":{}},"type":"object"})");
  CHECK(value_sent(R"({"type":"array","items":{"type":"array","items":{"type":"array"}}})") ==
        R"({"type":"array","items":{"type":"array","items":{"type":"array","items":{}}}})");
  CHECK(value_sent(R"({"anyOf":[{"type":"array"},{"type":"null"}]})") ==
        R"({"anyOf":[{"type":"array","items":{}},{"type":"null"}]})");
  CHECK(value_sent(R"({"type":"object","properties":{},"additionalProperties":{"type":"array"}})") ==
        R"({"type":"object","properties":{},"additionalProperties":{"type":"array","items":{}}})");
  CHECK(
      schema_sent(R"({"properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"array"}}})") ==
      R"({"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"array","items":{}}}})");
  for (const char* const same :
       {"{}", "true", R"({"type":"string"})", R"({"type":"array","items":true})", R"({"enum":["array"]})",
        R"({"type":"object","properties":{"type":{"type":"string"}},"required":["b"]})",
        R"({"not":{"type":"array"},"if":{"properties":{"b":{}}}})", R"({"default":{"type":"array"}})",
        R"({"n": 1.50, "type": "string"})"})
    CHECK(value_sent(same) == same);
  const std::string deep =
      R"({"type":"object","properties":)" + std::string(100, '[') + std::string(100, ']') + "}";
  CHECK(schema_sent(deep) == deep);
}

TEST_CASE("a server that refuses empty schemas gets no names that are no properties", "[llm][dialects]") {
  const auto sent = [](const char* schema) {
    ChatRequest request;
    request.tools = {{"look", "", schema}};
    last_check(request, Dialect::openai_chat, {.sends_empty_schemas = false});
    return request.tools[0].parameters;
  };
  CHECK(sent(R"({"type":"object","properties":{"a":{}},"required":["a","b",1]})") ==
        R"({"type":"object","properties":{"a":{}},"required":["a"]})");
  CHECK(sent(R"({"type":"object","properties":{"a":{"type":"object","required":["b"]}},"required":["a"]})") ==
        R"({"type":"object","properties":{"a":{"type":"object","properties":{}}},"required":["a"]})");
  CHECK(sent(R"({"type":"object","properties":{"a":{"type":"string","properties":{},"required":["b"]}}})") ==
        R"({"type":"object","properties":{"a":{"type":"string"}}})");
  const char* const whole = R"({"type":"object","properties":{"a":{}},"required":["a"]})";
  CHECK(sent(whole) == whole);
}

TEST_CASE("what was changed is said in words", "[llm][dialects]") {
  CHECK(Repairs{}.text().empty());
  CHECK(Repairs{{{"1st", "_1st"}}, 1, 2, 3, 4, 5, 6}.text() ==
        "names of offered tools changed: 1, names of called tools changed: 1, arguments replaced by {}: 2, "
        "empty messages left out: 3, empty "
        "messages "
        "filled: 4, answers put between a result and a user message: 5, schemas completed: 6");
}

TEST_CASE("a tool without parameters has no schema for a server that refuses an empty one",
          "[llm][dialects]") {
  ChatRequest request = request_of({ChatMessage::user("q")});
  request.tools = {{"a", "", ""},
                   {"b", "", R"({"type":"object","properties":{}})"},
                   {"c", "", R"({"type":"object","properties":{"x":{}}})"},
                   {"d", "It.", "{}"}};
  const std::string body =
      detail::llm::openai_chat().body(request, {.model = "m", .sends_empty_schemas = false});
  CHECK(
      body.find(
          R"("tools":[{"type":"function","function":{"name":"a"}},)"
          R"({"type":"function","function":{"name":"b"}},)"
          R"({"type":"function","function":{"name":"c","parameters":{"type":"object","properties":{"x":{}}}}},)"
          R"({"type":"function","function":{"name":"d","description":"It."}}])") != std::string::npos);
}
