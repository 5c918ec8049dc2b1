// Ids of tool calls that a provider would refuse.
#include "llm/dialects/call_id.hpp"

#include "llm/dialects/openai_chat_reader.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

using namespace agentcore;
using detail::llm::call_id;

TEST_CASE("a valid call id is unchanged", "[llm][tools]") {
  CHECK(call_id("call_1_1", 0, 40) == "call_1_1");
  CHECK(call_id("a.b:c", 0, 40) == "a.b:c");
  CHECK(call_id(std::string(40, 'x'), 0, 40) == std::string(40, 'x'));
  CHECK(call_id("D681PevKs", 9, 40) == "D681PevKs");
}

TEST_CASE("an invalid call id is always replaced by the same valid one", "[llm][tools]") {
  const std::string foreign = "chatcmpl-tool-0123456789abcdef0123456789abcdef";
  CHECK(call_id(foreign, 0, 40).size() <= 40);
  CHECK(call_id(foreign, 0, 40) == call_id(foreign, 0, 40));
  std::set<std::string> made;
  for (const std::string& id : {foreign, foreign + "0", std::string("call_1_1"), std::string("call_1_2"),
                                std::string(), std::string("D681PevK-"), std::string("D681PevKs1")}) {
    const std::string nine = call_id(id, 9, 40);
    CHECK(nine.size() == 9);
    CHECK(std::ranges::all_of(nine, [](unsigned char c) { return std::isalnum(c) != 0; }));
    CHECK(nine == call_id(id, 9, 40));
    made.insert(nine);
  }
  CHECK(made.size() == 7);
}

TEST_CASE("a call and its result keep matching ids", "[llm][openai][tools]") {
  ChatRequest request;
  request.messages = {ChatMessage::assistant(""), ChatMessage::tool_result({}, "done")};
  request.messages[0].append(std::vector<ToolCall>{{"call_1_1", "look", "{}"}});
  request.messages[1].tool_call_id = "call_1_1";
  const auto messages = nlohmann::json::parse(
      detail::llm::openai_chat_body(request, {.model = "m", .tool_call_id_length = 9}))["messages"];
  const std::string id = messages[1]["tool_call_id"];
  CHECK(id.size() == 9);
  CHECK(messages[0]["tool_calls"][0]["id"] == id);
}

TEST_CASE("reasoning of a call is found by its original id", "[llm][openai][tools][reasoning]") {
  ChatRequest request;
  request.messages = {ChatMessage::assistant("")};
  request.messages[0].append(std::vector<ToolCall>{{"b", "look", "{}"}, {"a", "look", "{}"}});
  test::put_reasoning(request.messages[0], {{"openai_chat", R"({"id":"a","extra_content":{"signed":1}})"}});
  const auto calls = nlohmann::json::parse(detail::llm::openai_chat_body(
      request, {.model = "m", .tool_call_id_length = 9}))["messages"][0]["tool_calls"];
  CHECK_FALSE(calls[0].contains("extra_content"));
  CHECK(calls[1]["extra_content"]["signed"] == 1);
}
