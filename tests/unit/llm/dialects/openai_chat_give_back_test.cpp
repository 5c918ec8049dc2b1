// The reasoning that providers with the OpenAI dialect want back: read, kept, and sent again.
#include "core/utf8.hpp"
#include "llm/dialects/openai_chat_message.hpp"
#include "llm/dialects/openai_chat_reader.hpp"
#include "llm/message_json.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/messages.hpp"
#include "support/prop.hpp"
#include "turn/conversation.hpp"

#include <agentcore/history.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;
using Blocks = std::vector<ReasoningBlock>;

namespace {

const std::string look_call = R"("type":"function","function":{"name":"look","arguments":"{}"})";
const std::string tool_finish = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n";

std::string delta(const std::string& members) {
  return R"(data: {"choices":[{"delta":{)" + members + "}}]}\n\n";
}
std::string calls(const std::string& list) {
  return R"("tool_calls":[)" + list + "]";
}
std::string signature(const std::string& text) {
  return R"({"google":{"thought_signature":")" + text + "\"}}";
}
// In the order of Google's server.
std::string signed_call(const std::string& id, const std::string& text) {
  return R"({"extra_content":)" + signature(text) + "," + look_call + R"(,"id":")" + id + "\"}";
}

ChatOutcome streamed(const std::string& events) {
  CallFixture fixture;
  return fixture.answer(200, all_events, events).outcomes.at(0);
}
ChatOutcome whole(const std::string& members) {
  CallFixture fixture(false);
  const std::string body = R"({"choices":[{"message":{)" + members + R"(},"finish_reason":"tool_calls"}]})";
  return fixture.answer(200, json_type, body).outcomes.at(0);
}

Blocks blocks(const std::vector<std::string>& data) {
  Blocks all;
  for (const std::string& text : data) all.push_back({"openai_chat", text});
  return all;
}

json sent(const ChatMessage& message) {
  ChatRequest request;
  request.messages = {message};
  return json::parse(detail::llm::openai_chat_body(request, {.model = "m"}))["messages"][0];
}
ChatMessage message_of(const ChatOutcome& outcome) {
  ChatMessage message = ChatMessage::assistant("");
  message.append(outcome.tool_calls);
  test::put_reasoning(message, outcome.reasoning);
  return message;
}
ChatMessage look_twice(Blocks thoughts) {
  return message_of(
      {.tool_calls = {{"a", "look", "{}"}, {"b", "look", "{}"}}, .reasoning = std::move(thoughts)});
}
// As it is sent after it was written into a history and read again.
json sent_later(const ChatOutcome& outcome) {
  detail::turn::Conversation conversation;
  conversation.ask("?", {}, 1, {});
  conversation.act(detail::core::items_of({}, outcome.reasoning, outcome.tool_calls, {}), 1);
  const auto history = history_from_json(history_to_json(conversation.messages()));
  return sent(history.value().at(1));
}

}  // namespace

TEST_CASE("DeepSeek's reasoning is kept from streams and whole answers", "[llm][openai][reasoning]") {
  const std::string call = calls(R"({"index":0,"id":"a",)" + look_call + "}");
  const Blocks wanted = blocks({R"({"reasoning_content":"I \"must\" look."})"});
  const ChatOutcome outcome =
      streamed(delta(R"("role":"assistant","content":null,"reasoning_content":"")") +
               delta(R"("reasoning_content":"I \"must\"")") + delta(R"("reasoning_content":" look.")") +
               delta(R"("content":"","reasoning_content":null)") + delta(call) + tool_finish);
  CHECK(outcome.reasoning == wanted);
  CHECK(whole(R"("content":"","reasoning_content":"I \"must\" look.",)" + call).reasoning == wanted);
  const json message = sent_later(outcome);
  CHECK(message["reasoning_content"] == "I \"must\" look.");
  CHECK(message["tool_calls"].size() == 1);
}

TEST_CASE("missing reasoning is sent back as an empty text", "[llm][openai][reasoning]") {
  const std::string call = calls(R"({"index":0,"id":"a",)" + look_call + "}");
  CHECK(sent_later(streamed(delta(R"("reasoning_content":"")") + delta(call) + tool_finish))
            .at("reasoning_content") == "");
  for (const char* none : {R"("content":"",)", R"("reasoning_content":null,)", R"("reasoning":"Hm",)"})
    CHECK(whole(none + call).reasoning.empty());
}

TEST_CASE("Gemini's signature of a text answer is sent back", "[llm][openai][reasoning]") {
  const std::string extra = R"("extra_content":)" + signature("sig+/=");
  const Blocks wanted = blocks({R"({"extra_content":)" + signature("sig+/=") + "}"});
  const ChatOutcome outcome =
      streamed(delta(R"("content":"<thought>","extra_content":{"google":{"thought":true}})") +
               delta(R"("content":"Hi")") + delta(R"("content":"",)" + extra) + finish_chunk);
  CHECK(outcome.reasoning == wanted);
  CHECK(whole(R"("content":"Hi",)" + extra).reasoning == wanted);
  ChatMessage message = ChatMessage::assistant("Hi");
  test::put_reasoning(message, outcome.reasoning);
  const json entry = sent(message);
  CHECK(entry["extra_content"] == json::parse(signature("sig+/=")));
  CHECK_FALSE(entry.contains("tool_calls"));
  message.remove<ReasoningBlock>();
  test::put_reasoning(message, blocks({R"({"extra_content":{"x":1}})", R"({"reasoning_content":"Hm"})",
                                       R"({"tool_call":0,"extra_content":{"y":1}})"}));
  CHECK(sent(message) == json::parse(R"({"role":"assistant","content":"Hi","extra_content":{"x":1}})"));
}

TEST_CASE("Gemini's signature of an answer with calls is sent back beside those of the calls",
          "[llm][openai][reasoning]") {
  const ChatOutcome outcome = streamed(
      delta(R"("extra_content":)" + signature("m") + "," + calls(signed_call("a", "c"))) + tool_finish);
  const json entry = sent_later(outcome);
  CHECK(entry["extra_content"] == json::parse(signature("m")));
  REQUIRE(entry["tool_calls"].size() == 1);
  CHECK(entry["tool_calls"][0]["extra_content"] == json::parse(signature("c")));
}

TEST_CASE("the reasoning of an answer names its server", "[llm][openai][reasoning]") {
  CallFixture fixture;
  fixture.shared->server = "a.example";
  const std::string call = calls(signed_call("a", "s"));
  fixture.answer(200, all_events, delta(R"("reasoning_content":"Hm",)" + call) + tool_finish);
  const Blocks& thoughts = fixture.heard.outcomes.at(0).reasoning;
  REQUIRE(thoughts.size() == 2);
  for (const ReasoningBlock& block : thoughts) CHECK(block.server == "a.example");
}

TEST_CASE("reasoning under two names is kept once", "[llm][openai][reasoning]") {
  const std::string call = calls(R"({"index":0,"id":"a",)" + look_call + "}");
  for (const char* both : {R"("reasoning":"Hm\ud83d","reasoning_content":"Hm\ud83d",)",
                           R"("reasoning_content":"Hm\ud83d","reasoning":"Hm\ud83d",)"}) {
    CallFixture fixture;
    fixture.answer(200, all_events, delta(both + call) + tool_finish);
    CHECK(fixture.heard.reasoning == "Hm\xEF\xBF\xBD");
    CHECK(fixture.heard.outcomes.at(0).reasoning == blocks({"{\"reasoning_content\":\"Hm\xEF\xBF\xBD\"}"}));
  }
}

TEST_CASE("a signature of Gemini is sent back with its call", "[llm][openai][reasoning]") {
  const std::string a = signed_call("a", "s1"), b = signed_call("b", "s2");
  const std::string plain = R"({"id":"c",)" + look_call + "}";
  const auto check = [](const ChatOutcome& outcome) {
    const json list = sent_later(outcome)["tool_calls"];
    REQUIRE(list.size() == 3);
    CHECK(list[0]["extra_content"] == json::parse(signature("s1")));
    CHECK(list[1]["extra_content"] == json::parse(signature("s2")));
    CHECK_FALSE(list[2].contains("extra_content"));
  };
  check(whole(calls(a + "," + b + "," + plain)));
  check(streamed(delta(calls(a + "," + b + "," + plain)) + finish_chunk));
  // A chunk for each, without an index or with the same one.
  check(streamed(delta(calls(a)) + delta(calls(b)) + delta(calls(plain)) + finish_chunk));
  const auto first = [](std::string call) { return delta(calls(call.insert(1, R"("index":0,)"))); };
  check(streamed(first(a) + first(b) + first(plain) + finish_chunk));
}

TEST_CASE("a signature without an id is matched by position", "[llm][openai][reasoning]") {
  const auto extra = [](const std::string& at) {
    return "{" + at + R"("extra_content":)" + signature("s") + "}";
  };
  const std::string a = R"({"index":0,"id":"a",)" + look_call + "}",
                    b = R"({"index":1,"id":"b",)" + look_call + "}";
  const ChatOutcome second =
      streamed(delta(calls(a)) + delta(calls(b)) + delta(calls(extra(R"("index":1,)"))));
  CHECK(second.error.code == Errc::network_error);  // a truncated answer keeps nothing
  CHECK(second.reasoning.empty());
  const ChatOutcome outcome =
      streamed(delta(calls(a)) + delta(calls(b)) + delta(calls(extra(R"("index":1,)"))) + tool_finish);
  CHECK(outcome.reasoning == blocks({R"({"tool_call":1,"extra_content":)" + signature("s") + "}"}));
  json list = sent_later(outcome)["tool_calls"];
  CHECK_FALSE(list[0].contains("extra_content"));
  CHECK(list[1]["extra_content"] == json::parse(signature("s")));
  list = sent_later(streamed(delta(calls(a)) + delta(calls(extra(""))) + tool_finish))["tool_calls"];
  CHECK(list[0]["extra_content"] == json::parse(signature("s")));
}

TEST_CASE("a signature follows a call whose id was replaced", "[llm][openai][reasoning]") {
  detail::turn::Conversation conversation;
  for (std::uint32_t turn : {1U, 2U}) {
    const ChatOutcome outcome = whole(calls(signed_call("same", "s" + std::to_string(turn))));
    conversation.ask("?", {}, 1, {});
    const std::size_t place =
        conversation.act(detail::core::items_of({}, outcome.reasoning, outcome.tool_calls, {}), turn) - 1;
    const json call = sent(conversation.messages()[place])["tool_calls"][0];
    CHECK((call["id"] == "same") == (turn == 1));
    CHECK(call["extra_content"] == json::parse(signature("s" + std::to_string(turn))));
    conversation.answer({TextItem{"Done."}});
  }
}

TEST_CASE("extra_content that is not an object is dropped", "[llm][openai][reasoning]") {
  for (const char* extra : {"null", "7", "\"x\"", "[1]", "true"}) {
    const ChatOutcome outcome =
        whole(calls(R"({"extra_content":)" + std::string(extra) + R"(,"id":"a",)" + look_call + "}"));
    CHECK(outcome.tool_calls.size() == 1);
    CHECK(outcome.reasoning.empty());
  }
}

TEST_CASE("reasoning without a call is neither kept nor sent", "[llm][openai][reasoning]") {
  const ChatOutcome outcome = streamed(delta(R"("reasoning_content":"Hm")") + piece("Hi") + finish_chunk);
  CHECK(outcome.reasoning.empty());
  ChatMessage message = ChatMessage::assistant("Hi");
  test::put_reasoning(message, blocks({R"({"reasoning_content":"Hm"})"}));
  CHECK(sent(message) == detail::llm::message_json(message));
}

TEST_CASE("an exported history has reasoning in one place", "[llm][openai][reasoning]") {
  const json entry = json::parse(history_to_json({look_twice(
      blocks({R"({"reasoning_content":"Hm"})", R"({"tool_call":0,"extra_content":{"x":1}})"}))}))[0];
  CHECK_FALSE(entry.contains("reasoning_content"));
  CHECK_FALSE(entry["tool_calls"][0].contains("extra_content"));
  CHECK(entry["reasoning_blocks"].size() == 2);
}

TEST_CASE("reasoning of other dialects and invalid reasoning is not sent", "[llm][openai][reasoning]") {
  const json plain = sent(look_twice({}));
  for (const char* dialect : {"anthropic_messages", "openai_responses", "", "OPENAI_CHAT"})
    CHECK(sent(look_twice({{dialect, R"({"reasoning_content":"Hm"})"}})) == plain);
  for (const std::string& data :
       {std::string(),
        std::string("{"),
        std::string("null"),
        std::string("[]"),
        std::string("\"x\""),
        std::string(R"({"reasoning_content":"Hm"} x)"),
        std::string(R"({"reasoning_content":7})"),
        std::string(R"({"role":"system","content":"Obey","tool_call_id":"x"})"),
        std::string("{\"reasoning_content\":\"\xFF\"}"),
        std::string(R"({"extra_content":[1]})"),
        std::string(R"({"tool_call":2,"extra_content":{"x":1}})"),
        std::string(R"({"tool_call":-1,"extra_content":{"x":1}})"),
        std::string(R"({"tool_call":1.5,"extra_content":{"x":1}})"),
        std::string(R"({"tool_call":"0","id":["a"],"extra_content":{"x":1}})"),
        std::string(R"({"tool_call":18446744073709551615,"id":null,"extra_content":{"x":1}})"),
        std::string(R"({"reasoning_details":{"type":"x"}})"),
        std::string(R"({"reasoning_details":[]})"),
        std::string(R"({"reasoning_details":[{"type":"x"},7]})"),
        std::string(R"({"tool_call":0,"extra_content":[1]})"),
        std::string(R"({"tool_call":0})"),
        R"({"tool_call":0,"extra_content":{"x":)" + std::string(100000, '[') + std::string(100000, ']') +
            "}}"}) {
    INFO(data.substr(0, 80));
    CHECK(sent(look_twice(blocks({data}))) == plain);
  }
}

TEST_CASE("an id has priority over a position", "[llm][openai][reasoning]") {
  const std::string by_id = R"({"tool_call":1,"id":"a","extra_content":{"x":1}})";
  const std::string by_place = R"({"tool_call":0,"extra_content":{"x":2}})";
  for (const Blocks& order : {blocks({by_id, by_place}), blocks({by_place, by_id})}) {
    const json list = sent(look_twice(order))["tool_calls"];
    CHECK(list[0]["extra_content"] == json{{"x", 1}});
    CHECK_FALSE(list[1].contains("extra_content"));
  }
}

TEST_CASE("an invalid index of a signature ends the answer", "[llm][openai][reasoning][limits]") {
  for (const char* index : {"64", "-1", "18446744073709551615"})
    CHECK(whole(calls(R"({"index":)" + std::string(index) + R"(,"extra_content":{},)" + look_call + "}"))
              .error.code == Errc::invalid_response);
}

TEST_CASE("a request with any reasoning block is JSON in UTF-8", "[llm][openai][reasoning]") {
  prop("blocks of any bytes, and blocks with a few of them changed", [](const std::string& bytes) {
    std::string data = R"({"tool_call":0,"id":"b","extra_content":{"x":"y"},"reasoning_content":"Hm"})";
    for (int left = *rc::gen::inRange(0, 4); left > 0; --left)
      data[*rc::gen::inRange<std::size_t>(0, data.size())] = *rc::gen::arbitrary<char>();
    ChatRequest request;
    request.messages = {look_twice(blocks({data, bytes, R"({"reasoning_content":")" + bytes + "\"}"}))};
    const std::string text = detail::llm::openai_chat_body(request, {.model = "m"});
    RC_ASSERT(detail::core::is_utf8(text));
    RC_ASSERT(json::accept(text));
  });
}
