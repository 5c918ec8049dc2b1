// Unusual answers of the chat dialect: several choices, more after the finish reason, items that are not
// taken, and errors of a provider of a gateway.
#include "llm/dialects/openai_chat_reader.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using Calls = std::vector<ToolCall>;
using Words = std::vector<std::string>;

namespace {

std::string choice(int index, const std::string& members) {
  return R"({"index":)" + std::to_string(index) + "," + members + "}";
}
std::string chunk(const std::string& choices) {
  return R"(data: {"choices":[)" + choices + "]}\n\n";
}
std::string delta(const std::string& members) {
  return chunk(R"({"delta":{)" + members + "}}");
}
ChatRecord streamed(const std::string& events, Errc end = Errc::none) {
  CallFixture fixture;
  return fixture.answer(200, all_events, events, end);
}
ChatRecord whole(const std::string& json, int status = 200) {
  CallFixture fixture(false);
  return fixture.answer(status, json_type, json);
}
ChatRecord message(const std::string& members, const std::string& reason = "stop") {
  return whole(R"({"choices":[{"message":{)" + members + R"(},"finish_reason":")" + reason + "\"}]}");
}
bool says(const ChatRecord& heard, std::string_view words) {
  return heard.error().message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("only the choice of index 0 is the answer", "[llm][openai][O2]") {
  const std::string first = R"("delta":{"content":"one"})", other = R"("delta":{"content":"two"})";
  const ChatRecord mixed = streamed(chunk(choice(0, first)) + chunk(choice(1, other)) +
                                    chunk(choice(1, other) + "," + choice(0, first)) +
                                    chunk(choice(1, R"("delta":{},"finish_reason":"length")")) +
                                    chunk(choice(0, R"("delta":{},"finish_reason":"stop")")) + done_chunk);
  REQUIRE(mixed.completed());
  CHECK(mixed.deltas == Words{"one", "one"});
  CHECK(mixed.outcomes[0].finish_reason == FinishReason::complete);
  CHECK(streamed(chunk(R"({"delta":{"content":"one"},"index":1})") + chunk(choice(0, first)) + finish_chunk)
            .text() == "one");
  const std::string answer = R"("message":{"content":"one"},"finish_reason":"stop")";
  CHECK(whole(R"({"choices":[{"index":1,"message":{"content":"two"}},)" + choice(0, answer) + "]}").text() ==
        "one");
  CHECK(
      whole(R"({"choices":[{"index":1,"message":{"content":"two"}}]})").failed_with(Errc::invalid_response));
  for (const char* none : {R"({"index":null,)", R"({"index":"1",)", "{"})
    CHECK(whole(std::string(R"({"choices":[)") + none + answer + "}]}").text() == "one");
}

TEST_CASE("a stream with deltas after its finish reason that breaks is an error", "[llm][openai][O5]") {
  const ChatRecord broken = streamed(piece("a") + finish_chunk + piece("b"), Errc::network_error);
  REQUIRE(broken.failed_with(Errc::network_error));
  CHECK(broken.error().retryable);
  CHECK_FALSE(broken.outcomes[0].usage.complete);
  const std::string call =
      delta(R"("tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{"}}])");
  CHECK(streamed(piece("a") + finish_chunk + call, Errc::stall_timeout).failed_with(Errc::stall_timeout));
  CHECK(streamed(finish_chunk + delta(R"("reasoning":"Hm")"), Errc::network_error)
            .failed_with(Errc::network_error));
}

TEST_CASE("a stream that ends after its finish reason is complete", "[llm][openai][O2]") {
  CHECK(streamed(piece("a") + finish_chunk + piece("b")).completed());
  CHECK(streamed(piece("a") + finish_chunk + piece("b") + done_chunk, Errc::network_error).completed());
  CHECK(streamed(piece("a") + finish_chunk + piece("b") + finish_chunk, Errc::network_error).completed());
  CHECK(streamed(piece("a") + finish_chunk + usage_chunk + piece(""), Errc::network_error).completed());
}

TEST_CASE("a chat answer of unknown parts alone fails and names them", "[llm][openai][O6]") {
  const std::string custom =
      R"("tool_calls":[{"index":0,"id":"a","type":"custom","custom":{"name":"x","input":"y"}}])";
  const ChatRecord events =
      streamed(delta(custom) + delta(R"("tool_calls":[{"index":0,"custom":{"input":"z"}}])") +
               chunk(R"({"delta":{},"finish_reason":"tool_calls"})") + done_chunk);
  const ChatRecord body = message(R"("content":null,)" + custom, "tool_calls");
  for (const ChatRecord& heard : {events, body}) {
    REQUIRE(heard.failed_with(Errc::invalid_response));
    CHECK(says(heard, "only: custom tool call."));
  }
  const ChatRecord pictures =
      message(R"("content":"","images":[{"type":"image_url","image_url":{"url":"data:"}}])");
  REQUIRE(pictures.failed_with(Errc::invalid_response));
  CHECK(says(pictures, "only: images."));
  CHECK(says(message(R"("content":null,"audio":{"id":"a","data":"x"})"), "only: audio."));
  CHECK(message(R"("content":"","images":[],"audio":null)").completed());
  CHECK(message(R"("content":"Here","images":[{"type":"image_url"}])").text() == "Here");
}

TEST_CASE("a function call beside a custom call is executed", "[llm][openai][tools]") {
  const ChatRecord heard =
      message(R"("content":null,"tool_calls":[{"id":"a","type":"custom","custom":{"name":"x"}},)"
              R"({"id":"b","type":"function","function":{"name":"look","arguments":"{}"}}])",
              "tool_calls");
  REQUIRE(heard.completed());
  CHECK(heard.outcomes[0].tool_calls == Calls{{"b", "look", "{}"}});
}

TEST_CASE("the error of OpenRouter's provider is in the message", "[llm][openai][X19]") {
  const auto error = [](const std::string& metadata, int status = 400) {
    return whole(R"({"error":{"message":"Provider returned error","code":400,"metadata":)" + metadata + "}}",
                 status);
  };
  const ChatRecord text =
      error(R"({"raw":"{\"error\":{\"message\":\"Only 1 image, please.\"}}","provider_name":"Crucible"})");
  REQUIRE(text.failed_with(Errc::api_error));
  CHECK(
      text.error().message ==
      R"(HTTP 400: Provider returned error: {"error":{"message":"Only 1 image, please."}} (from Crucible))");
  CHECK(says(error(R"({"raw":{"detail":"no room"}})"), R"(error: {"detail":"no room"})"));
  CHECK(error(R"({"raw":"This model's maximum context length is 8"})").error().model_specific);
  CHECK(says(error(R"({"raw":"busy, retry shortly"})", 200), "Provider returned error: busy, retry shortly"));
  for (const char* none : {"null", "{}", "[]", R"({"raw":null})", R"({"raw":"","provider_name":"X"})"})
    CHECK(error(none).error().message == "HTTP 400: Provider returned error");
}

TEST_CASE("each entry of what failed a validation is in the message", "[llm][openai][X19]") {
  const auto message_of = [](const std::string& body) { return whole(body, 422).error().message; };
  const std::string extra =
      R"({"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted","input":{"a":[1]}})";
  const std::string said = "body.messages.1.assistant.reasoning_content: Extra inputs are not permitted";
  CHECK(message_of(R"({"object":"error","message":{"detail":[)" + extra + "]}}") == "HTTP 422: " + said);
  CHECK(message_of(R"({"detail":[{"msg":"Field required","loc":["body","model"]},)" + extra + "]}") ==
        "HTTP 422: body.model: Field required; " + said);
  CHECK(message_of(R"({"error":{"message":[)" + extra + "," + extra + "]}}") ==
        "HTTP 422: " + said + "; " + said);
  CHECK(message_of(R"({"statusCode":422,"message":["property a should not exist","b must be a string"]})") ==
        "HTTP 422: property a should not exist; b must be a string");
  CHECK(message_of(R"({"detail":[{"loc":["body"]},{"msg":"No."},{},7,[],{"message":"So?"}]})") ==
        "HTTP 422: body; No.; So?");
  CHECK(message_of(R"({"detail":{"detail":"No."}})") == "HTTP 422: No.");
  // Shown as it is.
  CHECK(message_of(R"({"error":{"message":{"why":"No."}}})") == R"(HTTP 422: {"message":{"why":"No."}})");
  CHECK(message_of(R"({"error":{"message":[{"why":"No."}]}})") == R"(HTTP 422: {"message":[{"why":"No."}]})");
  CHECK(message_of(R"({"detail":[)" + std::string(1000, '[') + std::string(1000, ']') + "]}").size() <= 1000);
}

TEST_CASE("the quoted error of a provider is bounded and without secrets", "[llm][openai][G15]") {
  const auto message_of = [](const std::string& raw) {
    return whole(R"({"error":{"message":"No","metadata":{"raw":")" + raw + "\"}}}", 400).error().message;
  };
  CHECK(message_of("key " + api_key_in_test) == "HTTP 400: No: key [api key]");
  for (std::size_t before = 960; before < 1010; ++before)
    CHECK(message_of(std::string(before, 'x') + api_key_in_test).find("sk-") == std::string::npos);
  CHECK(message_of(std::string(900, 'x')) == "HTTP 400: No: " + std::string(900, 'x'));
  CHECK(message_of(std::string(100'000, 'x')).size() == 1000);
  const std::string named = whole(R"({"error":{"message":"No","metadata":{"raw":")" + std::string(5000, 'x') +
                                      R"(","provider_name":")" + std::string(5000, 'y') + "\"}}}",
                                  400)
                                .error()
                                .message;
  CHECK(named.size() == 1000);
  CHECK(named.ends_with("x (from " + std::string(100, 'y') + "...)"));
}

TEST_CASE("an error chunk of OpenRouter quotes its provider", "[llm][openai][X19]") {
  const ChatRecord heard =
      streamed(piece("x") +
               "data: {\"error\":{\"code\":502,\"message\":\"Provider returned "
               "error\",\"metadata\":{\"raw\":\"gone\"}},"
               "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n");
  REQUIRE(heard.failed_with(Errc::api_error));
  CHECK(heard.error().message == "Provider returned error: gone");
  CHECK(heard.error().retryable);
}
