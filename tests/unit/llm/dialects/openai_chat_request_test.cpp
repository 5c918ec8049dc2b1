// Tools in requests.
#include "core/utf8.hpp"
#include "llm/dialects/openai_chat_reader.hpp"
#include "support/catch.hpp"
#include "support/prop.hpp"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

using namespace agentcore;
using nlohmann::json;

namespace {

json function_sent(ToolDescription tool) {
  ChatRequest request;
  request.tools = {std::move(tool)};
  const auto body = json::parse(detail::llm::openai_chat_body(request, {.model = "m"}));
  REQUIRE(body["tools"].size() == 1);
  CHECK(body["tools"][0]["type"] == "function");
  return body["tools"][0]["function"];
}

}  // namespace

TEST_CASE("a request names its tools", "[llm][openai][tools]") {
  ChatRequest request;
  request.tools = {{"look", "Looks \"there\".", R"({"type":"object","properties":{"z":{},"a":{}}})"},
                   {"wait", "", ""}};
  const std::string body = detail::llm::openai_chat_body(request, {.model = "m"});
  CHECK(json::parse(body)["tools"] == json::parse(R"([
      {"type":"function","function":{"name":"look","description":"Looks \"there\".",
       "parameters":{"type":"object","properties":{"z":{},"a":{}}}}},
      {"type":"function","function":{"name":"wait","parameters":{"type":"object","properties":{}}}}])"));
  CHECK(body.find(R"({"z":{},"a":{}})") != std::string::npos);  // in the order in which they were written
  CHECK_FALSE(json::parse(detail::llm::openai_chat_body(ChatRequest{}, {.model = "m"})).contains("tools"));
}

TEST_CASE("invalid tool parameters are omitted", "[llm][openai][tools]") {
  const json none = {{"type", "object"}, {"properties", json::object()}};
  for (const std::string text : {"", " ", "{}", " { } ", "null", "[1]", "7", "\"x\"", "{", R"({"a":1}})",
                                 R"({"a":1} x)", R"({"a":})", "\xEF\xBB\xBF{\"a\":1}", "{\"a\":\"\xFF\"}"}) {
    INFO(text);
    CHECK(function_sent({"look", "x", text})["parameters"] == none);
  }
  CHECK(function_sent({"look", "x", " {\"a\":\n1} "})["parameters"] == json{{"a", 1}});
  CHECK(function_sent({"look", "x", "{\"a\":" + std::string(100000, '[') + "}"})["parameters"] == none);
}

TEST_CASE("a request with any tool is JSON in UTF-8", "[llm][openai][tools]") {
  prop("names, descriptions and parameters of any bytes", [](const std::string& a, const std::string& b) {
    ChatRequest request;
    request.tools = {{a, b, a}, {b, a, "{" + b}, {"x", "y", R"({"a":")" + a + "\"}"}};
    const std::string text = detail::llm::openai_chat_body(request, {.model = "m"});
    RC_ASSERT(detail::core::is_utf8(text));
    RC_ASSERT(json::accept(text));
  });
}
