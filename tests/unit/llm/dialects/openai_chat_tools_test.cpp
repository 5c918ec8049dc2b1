// Tool calls in answers, up to the outcome.
#include "core/utf8.hpp"
#include "llm/http/http_call.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/prop.hpp"

using namespace agentcore;
using namespace agentcore::test;
using Fixture = CallFixture;
using Calls = std::vector<ToolCall>;

namespace {

// An event whose delta has these tool calls.
std::string calls_event(std::string_view list, std::string_view more = "") {
  return R"(data: {"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":)" +
         std::string(list) + "}" + std::string(more) + "}]}\n\n";
}
const std::string tool_finish = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n";

// What a stream, and what a whole body gives.
ChatOutcome streamed(const std::string& events, std::size_t max_response = 1 << 20) {
  Fixture fixture(true, 1 << 20, max_response);
  return fixture.answer(200, all_events, events).outcomes.at(0);
}
ChatOutcome whole(const std::string& message, const std::string& reason = "tool_calls") {
  Fixture fixture(false);
  return fixture
      .answer(200, json_type,
              R"({"choices":[{"message":)" + message + R"(,"finish_reason":")" + reason + "\"}]}")
      .outcomes.at(0);
}

const Calls look_and_wait = {{"a", "look", R"({"at":1})"}, {"b", "wait", R"({"s":2})"}};
const Calls look = {look_and_wait[0]};
const std::string parallel_events =
    calls_event(R"([{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":""}}])") +
    calls_event(R"([{"index":1,"id":"b","type":"function","function":{"name":"wait","arguments":""}}])") +
    calls_event(R"([{"index":0,"function":{"arguments":"{\"at\""}}])") +
    calls_event(
        R"([{"index":1,"function":{"arguments":"{\"s\":2"}},{"index":0,"function":{"arguments":":1}"}}])") +
    calls_event(R"([{"index":1,"function":{"arguments":"}"}}])");

}  // namespace

TEST_CASE("streamed tool calls are assembled in the outcome", "[llm][openai][tools]") {
  const ChatOutcome outcome = streamed(parallel_events + tool_finish + usage_chunk + done_chunk);
  CHECK(outcome.kind == ChatOutcome::Kind::completed);
  CHECK(outcome.finish_reason == FinishReason::tool_calls);
  CHECK(outcome.tool_calls == look_and_wait);
  CHECK(outcome.usage == k123);
}

TEST_CASE("text beside tool calls is delivered", "[llm][openai][tools]") {
  Fixture fixture;
  fixture.answer(200, all_events,
                 piece("Let me see.") +
                     "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":"
                     "{\"name\":\"look\",\"arguments\":\"{}\"}}],\"content\":\" So\"}}]}\n\n" +
                     tool_finish);
  CHECK(fixture.heard.text() == "Let me see. So");
  CHECK(fixture.heard.outcomes.at(0).tool_calls == Calls{{"a", "look", "{}"}});
}

TEST_CASE("tool calls are read in the forms of known servers", "[llm][openai][tools]") {
  const auto calls = [](const std::string& events) { return streamed(events + tool_finish).tool_calls; };
  const std::string a = R"("id":"a","type":"function","function":{"name":"look","arguments":"{\"at\":1}"})";
  const std::string b = R"("id":"b","type":"function","function":{"name":"wait","arguments":"{\"s\":2}"})";
  CHECK(calls(calls_event(R"([{"index":0,)" + a + R"(},{"index":1,)" + b + "}]")) == look_and_wait);
  CHECK(calls(calls_event(R"([{"index":0,)" + a + "}]") + calls_event(R"([{"index":0,)" + b + "}]")) ==
        look_and_wait);
  CHECK(calls(calls_event("[{" + a + "},{" + b + "}]")) == look_and_wait);
  CHECK(calls(calls_event("[{" + a + "}]") + calls_event("[{" + b + "}]")) == look_and_wait);
  CHECK(calls(calls_event("[{\"index\":null," + a + "}]")) == look);
  CHECK(calls(calls_event(R"([{"function":{"name":"ping"}},{"function":{"name":"ping"}}])")) ==
        Calls{{"", "ping", ""}, {"", "ping", ""}});
}

TEST_CASE("arguments that are not a text become their JSON text", "[llm][openai][tools]") {
  const auto arguments = [](const std::string& value) {
    return streamed(calls_event(R"([{"index":0,"id":"a","function":{"arguments":)" + value +
                                R"(,"name":"look"}}])") +
                    tool_finish)
        .tool_calls.at(0)
        .arguments;
  };
  CHECK(arguments(R"({"at": [1, {"b":null}]} )") == R"({"at": [1, {"b":null}]})");
  CHECK(arguments("{}") == "{}");
  CHECK(arguments("[1,2]") == "[1,2]");
  CHECK(arguments("7 ") == "7");
  CHECK(arguments("true") == "true");
  CHECK(arguments("null").empty());
  CHECK(arguments(R"("{\"at\": sea")") == R"({"at": sea)");  // no JSON: as the model wrote it
}

TEST_CASE("the old form of one call is read", "[llm][openai][tools]") {
  const auto event = [](const std::string& call) {
    return "data: {\"choices\":[{\"delta\":{\"function_call\":" + call + "}}]}\n\n";
  };
  const ChatOutcome outcome = streamed(
      event(R"({"name":"look","arguments":""})") + event(R"({"arguments":"{\"at\""})") +
      event(R"({"arguments":":1}"})") +
      "data: {\"choices\":[{\"delta\":{\"function_call\":null},\"finish_reason\":\"function_call\"}]}\n\n");
  CHECK(outcome.tool_calls == Calls{{"", "look", R"({"at":1})"}});
  CHECK(outcome.finish_reason == FinishReason::tool_calls);
  CHECK(whole(R"({"content":null,"function_call":{"name":"look","arguments":"{}"}})").tool_calls ==
        Calls{{"", "look", "{}"}});
}

TEST_CASE("a whole answer has tool calls", "[llm][openai][tools]") {
  const ChatOutcome outcome =
      whole(R"({"role":"assistant","content":null,"tool_calls":[)"
            R"({"id":"a","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}},)"
            R"({"id":"b","type":"function","function":{"name":"wait","arguments":{"s":2}}}]})",
            "stop");
  CHECK(outcome.finish_reason == FinishReason::tool_calls);
  CHECK(outcome.tool_calls == look_and_wait);
  CHECK(whole(R"({"tool_calls":null,"content":"Hi"})", "stop").finish_reason == FinishReason::complete);
  CHECK(whole(R"({"tool_calls":[],"content":"Hi"})", "stop").finish_reason == FinishReason::complete);
}

TEST_CASE("a finish reason stop with tool calls counts as tool_calls", "[llm][openai][tools]") {
  const auto reason = [](const std::string& end) { return streamed(parallel_events + end).finish_reason; };
  CHECK(reason(finish_chunk) == FinishReason::tool_calls);
  CHECK(reason(done_chunk) == FinishReason::tool_calls);
  CHECK(reason("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n") ==
        FinishReason::length);
  CHECK(streamed(piece("x") + tool_finish).tool_calls.empty());
}

TEST_CASE("invalid tool call entries are skipped", "[llm][openai][tools]") {
  for (const char* list :
       {"null", "[]", "[null]", "[7]", "[{}]", "{}", "\"x\"", "[[]]", R"([{"function":1}])",
        R"([{"index":0,"function":{"name":null,"arguments":null}}])", R"([{"id":7}])"}) {
    INFO(list);
    const ChatOutcome outcome = streamed(calls_event(list) + finish_chunk);
    CHECK(outcome.finish_reason == FinishReason::complete);
    CHECK(outcome.tool_calls.empty());
  }
}

TEST_CASE("a failed or stopped answer has no tool calls", "[llm][openai][tools][G7]") {
  for (const auto& end : {std::string(), std::string("data: <oops>\n\n"),
                          std::string("data: {\"error\":{\"message\":\"no\"}}\n\n")}) {
    const ChatOutcome outcome = streamed(parallel_events + end);
    CHECK(outcome.kind == ChatOutcome::Kind::failed);
    CHECK(outcome.tool_calls.empty());
  }
  Fixture fixture;
  fixture.call->on_head({.status = 200, .content_type = all_events});
  fixture.call->on_body(parallel_events + tool_finish);
  fixture.handle->stop();
  fixture.end(Errc::cancelled);
  CHECK(fixture.heard.cancelled());
  CHECK(fixture.heard.outcomes.at(0).tool_calls.empty());
}

TEST_CASE("too many tool calls or an invalid index end the stream", "[llm][openai][tools][limits]") {
  const std::string one = R"({"function":{"name":"look","arguments":"{}"}})";
  std::string list = one;
  for (int i = 1; i < 64; ++i) list += "," + one;
  CHECK(streamed(calls_event("[" + list + "]") + tool_finish).tool_calls.size() == 64);
  for (const std::string& events :
       {calls_event("[" + list + "," + one + "]"),
        calls_event("[" + list + "]") + calls_event("[" + one + "]"),
        calls_event(R"([{"index":64,"id":"a","function":{"name":"look"}}])"),
        calls_event(R"([{"index":-1,"id":"a","function":{"name":"look"}}])"),
        calls_event(R"([{"index":1e300,"id":"a","function":{"name":"look"}}])"),
        calls_event(R"([{"index":99999999999999999999,"function":{"name":"look"}}])")}) {
    const ChatOutcome outcome = streamed(events + tool_finish);
    CHECK(outcome.error.code == Errc::invalid_response);
    CHECK_FALSE(outcome.error.retryable);
    CHECK(outcome.tool_calls.empty());
  }
}

TEST_CASE("tool calls are as large as an answer may be", "[llm][openai][tools][limits]") {
  const std::string begin = calls_event(R"([{"index":0,"id":"a","function":{"name":"look"}}])");
  const std::string more =
      calls_event(R"([{"index":0,"function":{"arguments":")" + std::string(100, 'x') + "\"}}]");
  CHECK(streamed(begin + more + more + tool_finish, 205).tool_calls.at(0).arguments.size() == 200);
  const ChatOutcome outcome = streamed(begin + more + more + tool_finish, 204);
  CHECK(outcome.error.code == Errc::response_too_large);
  CHECK(outcome.error.message.find("max_response_bytes") != std::string::npos);
}

TEST_CASE("tool calls are always valid UTF-8", "[llm][openai][tools][G15]") {
  const auto call = [](const std::string& function) {
    return streamed(calls_event(R"([{"index":0,"id":"a\ud83d","function":)" + function + "}]") + tool_finish)
        .tool_calls.at(0);
  };
  CHECK(call(R"({"name":"look\ud83d","arguments":"x\ude00"})") ==
        ToolCall{"a\xEF\xBF\xBD", "look\xEF\xBF\xBD", "x\xEF\xBF\xBD"});
  CHECK(call("{\"name\":\"look\",\"arguments\":{\"a\":\"\xFF\"}}").arguments == "{\"a\":\"\xEF\xBF\xBD\"}");
}

TEST_CASE("broken tool calls end in an outcome", "[llm][openai][tools][G15]") {
  prop("whatever bytes of them are changed, the outcome is one, and its texts are valid UTF-8", [] {
    std::string events = parallel_events + tool_finish;
    for (int left = *rc::gen::inRange(1, 6); left > 0; --left)
      events[*rc::gen::inRange<std::size_t>(0, events.size())] =
          *rc::gen::oneOf(rc::gen::element('"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', 'n'),
                          rc::gen::arbitrary<char>());
    for (const ToolCall& call : streamed(events).tool_calls) {
      RC_ASSERT(!call.name.empty());
      RC_ASSERT(detail::core::is_utf8(call.id + call.name + call.arguments));
    }
  });
}
