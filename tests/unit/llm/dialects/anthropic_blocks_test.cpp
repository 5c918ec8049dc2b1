// What the blocks of an Anthropic answer mean together: which model answers, what is reasoning, what is an
// answer at all.
#include "llm/dialects/anthropic_messages_reader.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::detail::llm;
using test::ChatRecord;
using Words = std::vector<std::string>;

namespace {

ChatRecord streamed(const std::string& events) {
  test::CallFixture fixture(true, 1 << 20, 1 << 20, anthropic_messages());
  return fixture.answer(200, test::all_events, events);
}
ChatRecord whole(const std::string& members) {
  test::CallFixture fixture(false, 1 << 20, 1 << 20, anthropic_messages());
  return fixture.answer(200, test::json_type, R"({"type":"message","id":"m",)" + members + "}");
}
// The same blocks in a whole answer.
ChatRecord whole_of(const std::string& blocks, const std::string& stop_reason = "end_turn") {
  return whole(R"("model":"asked","content":[)" + blocks + R"(],"stop_reason":")" + stop_reason + "\"");
}

std::string event(const std::string& json) {
  return "data: " + json + "\n\n";
}
std::string message_start(const std::string& id) {
  return event(R"({"type":"message_start","message":{"id":")" + id + R"(","model":"asked","content":[]}})");
}
std::string start(int index, const std::string& block) {
  return event(R"({"type":"content_block_start","index":)" + std::to_string(index) + R"(,"content_block":)" +
               block + "}");
}
std::string delta(int index, const std::string& delta) {
  return event(R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" + delta +
               "}");
}
std::string text(int index, const std::string& words) {
  return start(index, R"({"type":"text","text":""})") +
         delta(index, R"({"type":"text_delta","text":")" + words + "\"}");
}
std::string end(const std::string& reason = "end_turn") {
  return event(R"({"type":"message_delta","delta":{"stop_reason":")" + reason +
               R"("},"usage":{"input_tokens":7,"output_tokens":5}})") +
         event(R"({"type":"message_stop"})");
}

const std::string search = R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}})";
const std::string found = R"({"type":"web_search_tool_result","tool_use_id":"s","content":[]})";
const std::string fallback = R"({"type":"fallback","from":{"model":"asked"},"to":{"model":"claude-other"}})";

}  // namespace

TEST_CASE("a fallback block names the model that answers", "[llm][anthropic][usage]") {
  const ChatRecord events = streamed(message_start("m") + start(0, fallback) + text(1, "Hi") + end());
  REQUIRE(events.completed());
  CHECK(events.outcomes[0].model == "claude-other");
  CHECK(events.text() == "Hi");
  const ChatRecord body = whole_of(fallback + R"(,{"type":"text","text":"Hi"})");
  REQUIRE(body.completed());
  CHECK(body.outcomes[0].model == "claude-other");
  CHECK(streamed(message_start("m") + text(0, "Hi") + end()).outcomes.at(0).model == "asked");
}

TEST_CASE("a fallback block is sent back between its reasoning blocks", "[llm][anthropic][reasoning]") {
  const std::string first = R"({"type":"thinking","thinking":"A","signature":"a"})";
  const std::string second = R"({"type":"thinking","thinking":"B","signature":"b"})";
  const ChatRecord body = whole_of(first + "," + fallback + "," + second + R"(,{"type":"text","text":"Hi"})");
  REQUIRE(body.completed());
  ChatRequest request;
  request.messages = {ChatMessage::user("?"), test::answer("Hi", {}, body.outcomes[0].reasoning)};
  const std::string sent = anthropic_messages_body(request, {.model = "m"});
  CHECK(sent.find(first + "," + fallback + "," + second + R"(,{"type":"text")") != std::string::npos);
}

TEST_CASE("a stream that begins another message is broken", "[llm][anthropic][O5]") {
  const ChatRecord mixed =
      streamed(message_start("msg_1") + text(0, "one") + message_start("msg_2") + text(0, "two") + end());
  REQUIRE(mixed.failed_with(Errc::invalid_response));
  CHECK(mixed.text() == "one");
  CHECK(mixed.error().message.find("another message") != std::string::npos);
  CHECK(mixed.error().retryable);
  CHECK(streamed(message_start("msg_1") + message_start("msg_1") + text(0, "one") + end()).completed());
  CHECK(streamed(message_start("") + message_start("") + text(0, "one") + end()).completed());
}

TEST_CASE("a signature counts only in a thinking block", "[llm][anthropic][reasoning]") {
  const std::string signed_ = R"({"type":"signature_delta","signature":"s"})";
  const std::string thought = R"({"type":"thinking_delta","thinking":"Hm."})";
  const auto kept = [](const std::string& events) {
    const ChatRecord heard = streamed(message_start("m") + events + end());
    REQUIRE(heard.completed());
    return heard.outcomes[0].reasoning;
  };
  CHECK(kept(text(0, "Hi") + delta(0, signed_)).empty());
  CHECK(kept(start(0, search) + delta(0, signed_) + text(1, "Hi")).empty());
  CHECK(kept(text(0, "Hi") + delta(0, thought) + delta(0, signed_)).empty());
  const std::string begun = start(0, R"({"type":"thinking","thinking":"","signature":""})");
  CHECK(kept(begun + delta(0, thought) + text(1, "Hi") + delta(1, signed_)).empty());
  REQUIRE(kept(begun + delta(0, thought) + delta(0, signed_) + text(1, "Hi")).size() == 1);
  CHECK(kept(begun + delta(0, signed_) + text(1, "Hi")).size() == 1);  // the reasoning itself is not shown
}

TEST_CASE("a paused answer is not a completed one", "[llm][anthropic][O5]") {
  const ChatRecord events =
      streamed(message_start("m") + text(0, "I search.") + start(1, search) + end("pause_turn"));
  const ChatRecord body = whole_of(R"({"type":"text","text":"I search."},)" + search, "pause_turn");
  for (const ChatRecord& heard : {events, body}) {
    REQUIRE(heard.failed_with(Errc::api_error));
    CHECK(heard.error().message.find("\"pause_turn\"") != std::string::npos);
    CHECK(heard.error().retryable);
  }
  CHECK(events.outcomes[0].usage.prompt_tokens == 7);
  CHECK(events.outcomes[0].usage.completion_tokens == 5);
}

TEST_CASE("an answer of unknown blocks alone fails and names them", "[llm][anthropic][O6]") {
  const ChatRecord events =
      streamed(message_start("m") + start(0, R"({"type":"thinking","thinking":"Hm."})") + start(1, search) +
               start(2, found) + start(3, search) + end());
  const ChatRecord body = whole_of(search + "," + found + R"(,{"type":"text","text":""})");
  for (const ChatRecord& heard : {events, body}) {
    REQUIRE(heard.failed_with(Errc::invalid_response));
    CHECK(heard.error().message.find("only: server_tool_use, web_search_tool_result.") != std::string::npos);
    CHECK_FALSE(heard.error().retryable);
  }
  const ChatRecord cut = streamed(message_start("m") + start(0, search) + end("max_tokens"));
  REQUIRE(cut.completed());
  CHECK(cut.outcomes[0].finish_reason == FinishReason::length);
  CHECK(streamed(message_start("m") + start(0, search) + text(1, "Hi") + end()).completed());
  CHECK(whole_of("").completed());  // nothing at all, as some servers answer
}

TEST_CASE("texts with another block between them are separated", "[llm][anthropic][O2]") {
  const ChatRecord events = streamed(message_start("m") + text(0, "I search.") + start(1, search) +
                                     start(2, found) + text(3, "Found ") + text(4, "it.") + end());
  CHECK(events.deltas == Words{"I search.", "\n\nFound ", "it."});
  const auto block = [](const std::string& words) { return R"({"type":"text","text":")" + words + "\"}"; };
  const ChatRecord body = whole_of(block("I search.") + "," + search + "," + found + "," + block("") + "," +
                                   block("Found ") + "," + block("it."));
  CHECK(body.text() == "I search.\n\nFound it.");
  CHECK(streamed(message_start("m") + start(0, search) + text(1, "Hi") + end()).text() == "Hi");
  CHECK(whole_of(search + "," + block("Hi") + "," + search).text() == "Hi");
}
