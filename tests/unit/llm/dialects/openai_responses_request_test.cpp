// Requests of the OpenAI Responses dialect, as they go over the wire.
#include "llm/dialects/wire_format.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"
#include "support/wire/golden.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

std::string written(const ChatRequest& request, const detail::llm::BodyDefaults& defaults = {.model = "m"}) {
  return detail::llm::openai_responses().body(request, defaults);
}
json body_of(const ChatRequest& request, const detail::llm::BodyDefaults& defaults = {.model = "m"}) {
  return json::parse(written(request, defaults));
}
json input_of(std::vector<ChatMessage> messages, const std::string& model = "m") {
  ChatRequest request;
  request.messages = std::move(messages);
  return body_of(request, {.model = model}).at("input");
}

const std::string ours = std::string(to_string(Dialect::openai_responses));
const std::string thought = R"({"id":"rs_1","type":"reasoning","encrypted_content":"gAA=","summary":[]})";

// One of everything.
ChatRequest maximal() {
  ChatMessage question = test::marked(ChatMessage::user("What is \"there\"?"), Interruption::aborted);
  question.append(std::vector<ContentPart>{{.url = "https://example.org/sea.png", .detail = "low"},
                                           {.data = "iVBORw0=", .media_type = "image/png"}});
  ChatRequest request;
  request.agent_id = "agent-1";
  request.model = "gpt-5";
  request.messages = {
      ChatMessage::system("Be brief."),
      question,
      answer("Let me see.", {{"call_aa", "look", R"({"at":"sea","n":1})"}, {"call_bb", "notes__add", "{}"}},
             {{ours, thought}, {"anthropic_messages", R"({"type":"thinking"})"}}),
      ChatMessage::system("Be kind."),
      result("call_aa", "blue"),
      result("call_bb", ""),
      answer("It is blue.", {}, {})};
  request.tools = {
      {"look", "Looks \"there\".", R"({"type":"object","properties":{"z":{},"a":{"type":"string"}}})"},
      {"wait", "", ""}};
  request.tool_choice = {ToolChoice::Mode::named, "look"};
  request.parallel_tool_calls = false;
  request.response_format = {ResponseFormat::Kind::json_schema, "colour",
                             R"({"type":"object","properties":{"z":{},"a":{}}})", true};
  request.temperature = 0.5;
  request.top_p = 0.25;
  request.max_tokens = 1000;
  request.stop_sequences = {"END"};
  request.reasoning_effort = "high";
  return request;
}

}  // namespace

TEST_CASE("a request with one of everything is written as the API documents it", "[llm][responses][O2][G8]") {
  const std::string text = written(
      maximal(), {.model = "unused", .max_tokens = 7, .extra_body = R"({"z":1,"truncation":"auto"})"});
  CHECK(text + "\n" == read_golden("openai_responses/request.json"));
  CHECK(json::parse(text) == json::parse(read_golden("openai_responses/request_pretty.json")));
}

TEST_CASE("a minimal request is a stream that is not stored", "[llm][responses][O2]") {
  ChatRequest request;
  request.messages = {ChatMessage::user("hi")};
  CHECK(written(request) == R"({"model":"m","input":[{"type":"message","role":"user","content":)"
                            R"([{"type":"input_text","text":"hi"}]}],"store":false,)"
                            R"("include":["reasoning.encrypted_content"],"stream":true})");
  request.stream = false;
  CHECK_FALSE(body_of(request).contains("stream"));
}

TEST_CASE("every tool choice and response format is written", "[llm][responses][tools]") {
  ChatRequest request;
  request.tool_choice.mode = ToolChoice::Mode::required;
  CHECK_FALSE(body_of(request).contains("tool_choice"));  // without tools
  request.tools = {{"look", "", ""}};
  CHECK(body_of(request).at("tool_choice") == "required");
  request.tool_choice.mode = ToolChoice::Mode::none;
  CHECK(body_of(request).at("tool_choice") == "none");
  request.tool_choice.mode = ToolChoice::Mode::automatic;
  CHECK_FALSE(body_of(request).contains("tool_choice"));
  CHECK_FALSE(body_of(request).contains("text"));
  request.response_format.kind = ResponseFormat::Kind::json_object;
  CHECK(body_of(request).at("text") == json::parse(R"({"format":{"type":"json_object"}})"));
  request.response_format = {ResponseFormat::Kind::json_schema, "", R"({"a":1})", false};
  CHECK(body_of(request).at("text").at("format") ==
        json::parse(R"({"type":"json_schema","name":"answer","strict":false,"schema":{"a":1}})"));
}

TEST_CASE("every dialect sends the requested schema unchanged", "[llm]") {
  ChatRequest request;
  for (const auto& [schema, sent] :
       {std::pair(R"({"a":1})", R"({"a":1})"), {"{}", "{}"}, {"{", R"("{")"}, {"", R"("")"}}) {
    request.response_format = {ResponseFormat::Kind::json_schema, "", schema};
    const json expected = json::parse(sent);
    CHECK(json::parse(detail::llm::openai_responses().body(request, {}))["text"]["format"]["schema"] ==
          expected);
    CHECK(json::parse(detail::llm::openai_chat().body(
              request, {}))["response_format"]["json_schema"]["schema"] == expected);
    CHECK(json::parse(detail::llm::anthropic_messages().body(
              request, {}))["output_config"]["format"]["schema"] == expected);
  }
}

TEST_CASE("limits come from the request and else from the options", "[llm][responses]") {
  ChatRequest request;
  CHECK_FALSE(body_of(request).contains("max_output_tokens"));
  const detail::llm::BodyDefaults defaults{.model = "m", .max_tokens = 90, .max_tokens_field = "max_tokens"};
  CHECK(body_of(request, defaults).at("max_output_tokens") == 90);
  CHECK_FALSE(body_of(request, defaults).contains("max_tokens"));
  request.max_tokens = 30;
  CHECK(body_of(request, defaults).at("max_output_tokens") == 30);
}

TEST_CASE("a limit is as large as the Responses API wants it", "[llm][responses]") {
  ChatRequest request;
  for (const std::uint32_t limit : {1U, 15U, 16U, 17U}) {
    request.max_tokens = limit;
    CHECK(body_of(request).at("max_output_tokens") == std::max(limit, 16U));
  }
  request.max_tokens.reset();
  CHECK(body_of(request, {.model = "m", .max_tokens = 9}).at("max_output_tokens") == 16);
}

TEST_CASE("extra members are added or replace existing ones", "[llm][responses]") {
  const json body = body_of({}, {.model = "m", .extra_body = R"({"include":[],"service_tier":"flex"})"});
  CHECK(body.at("include").empty());
  CHECK(body.at("service_tier") == "flex");
}

TEST_CASE("an answer is written as reasoning and text and calls", "[llm][responses][G8]") {
  CHECK(input_of({answer("", {}, {})}).empty());
  CHECK(input_of({answer("", {{"c", "look", ""}}, {})}) ==
        json::parse(R"([{"type":"function_call","call_id":"c","name":"look","arguments":""}])"));
  const json both = input_of({answer("x", {}, {{ours, thought}, {ours, thought}})});
  REQUIRE(both.size() == 3);
  CHECK(both[0] == json::parse(thought));
  CHECK(both[2].at("content") == json::parse(R"([{"type":"output_text","text":"x"}])"));
}

TEST_CASE("texts of one item of an answer go back as one message", "[llm][responses][G8]") {
  const auto sent = [](std::vector<MessageItem> items) {
    return input_of({ChatMessage::user("?"), ChatMessage::assistant(std::move(items))});
  };
  const TextItem well{"Well.", false, "msg_1", "commentary"}, no{"No.", true, "msg_1", "commentary"};
  const json both =
      json::parse(R"({"type":"message","role":"assistant","phase":"commentary","content":[)"
                  R"({"type":"output_text","text":"Well."},{"type":"refusal","refusal":"No."}]})");
  CHECK(sent({well, no})[1] == both);
  CHECK(sent({well, TextItem{"", false, "msg_1", "commentary"}, no})[1] == both);
  CHECK(sent({well, no}).size() == 2);
  CHECK(sent({well, TextItem{"No.", true, "msg_2", "commentary"}}).size() == 3);
  CHECK(sent({well, TextItem{"No.", true, "msg_1", "final_answer"}}).size() == 3);
  CHECK(sent({TextItem{"Well."}, TextItem{"No.", true}}).size() == 3);
  CHECK(sent({well, ToolCall{"c", "look", "{}"}, no}).size() == 4);
}

TEST_CASE("only reasoning that the provider accepts is sent back", "[llm][responses][G8]") {
  const auto items = [](ReasoningBlock block, const std::string& content = "x", const char* model = "m") {
    return input_of({answer(content, {}, {std::move(block)})}, model).size();
  };
  CHECK(items({ours, thought}) == 2);
  CHECK(items({ours, " " + thought + "\n"}) == 2);
  CHECK(items({"openai_chat", thought}) == 1);
  CHECK(items({ours, thought}, "") == 0);  // without what they led to
  for (const char* data : {"", "x", "[]", "null", "{", "{} {}", R"({"a":"\ud800"})", "{\"a\":\"\xFF\"}"})
    CHECK(items({ours, data}) == 1);
}

TEST_CASE("models without reasoning get no reasoning options or items", "[llm][responses]") {
  for (const char* model : {"gpt-4o", "gpt-4.1-mini", "gpt-3.5-turbo", "chatgpt-4o-latest",
                            "gpt-5-chat-latest", "openai/gpt-4o"}) {
    INFO(model);
    CHECK_FALSE(body_of({}, {.model = model}).contains("include"));
    CHECK(input_of({answer("x", {}, {{ours, thought}})}, model).size() == 1);
  }
  for (const char* model : {"gpt-5", "o3", "gpt-6", "openai/gpt-oss-20b", "gpt-4-proxy/o4-mini"})
    CHECK(body_of({}, {.model = model}).contains("include"));
}

TEST_CASE("system messages become instructions at any position", "[llm][responses]") {
  ChatRequest request;
  request.messages = {ChatMessage::system("a"), ChatMessage::user("q"), ChatMessage::system(""),
                      ChatMessage::system("b")};
  CHECK(body_of(request).at("instructions") == "a\n\nb");
  CHECK(body_of(request).at("input").size() == 1);
  CHECK_FALSE(body_of({}).contains("instructions"));
}

TEST_CASE("a user message has at least one part", "[llm][responses]") {
  CHECK(input_of({ChatMessage::user("")})[0].at("content") ==
        json::parse(R"([{"type":"input_text","text":""}])"));
  ChatMessage picture = ChatMessage::user("");
  picture.append(std::vector<ContentPart>{{.url = "https://a/b.png"}});
  CHECK(input_of({picture})[0].at("content") ==
        json::parse(R"([{"type":"input_image","image_url":"https://a/b.png"}])"));
}
