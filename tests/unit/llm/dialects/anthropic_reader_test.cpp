// Answers of the Anthropic Messages dialect.
#include "core/utf8.hpp"
#include "llm/dialects/anthropic_messages_reader.hpp"
#include "llm/http/error_class.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/prop.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::llm;
using Calls = std::vector<ToolCall>;

namespace {

struct Parsed {
  bool ok;
  std::string content, reasoning;
  AnswerObject object;
};

// From a block of the heap that ends where the JSON does, so that a read outside it is noticed.
Parsed chunk(std::string_view json) {
  static AnthropicMessagesReader reader;
  const std::vector<char> exact(json.begin(), json.end());
  Parsed parsed;
  parsed.ok = reader.parse_chunk({exact.data(), exact.size()}, 0, parsed.object);
  parsed.content = parsed.object.content;
  parsed.reasoning = parsed.object.reasoning;
  return parsed;
}

Parsed body(std::string_view json) {
  static AnthropicMessagesReader reader;
  Parsed parsed;
  parsed.ok = reader.parse_body(json, parsed.object);
  parsed.content = parsed.object.content;
  parsed.reasoning = parsed.object.reasoning;
  return parsed;
}

std::optional<Usage> usage_in(std::string_view json) {
  const auto counts = chunk(json).object.usage;
  return counts ? std::optional(counts->usage()) : std::nullopt;
}

ChatOutcome streamed(const std::string& events) {
  test::CallFixture fixture(true, 1 << 20, 1 << 20, anthropic_messages());
  return fixture.answer(200, test::all_events, events).outcomes.at(0);
}

std::string event(const std::string& json) {
  return "data: " + json + "\n\n";
}
std::string start(int index, const std::string& block) {
  return event(R"({"type":"content_block_start","index":)" + std::to_string(index) + R"(,"content_block":)" +
               block + "}");
}
std::string call_start(int index, const std::string& id, const std::string& name = "look") {
  return start(index, R"({"type":"tool_use","id":")" + id + R"(","name":")" + name + R"(","input":{}})");
}
std::string delta(int index, const std::string& delta) {
  return event(R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" + delta +
               "}");
}
std::string arguments(int index, const std::string& quoted) {
  return delta(index, R"({"type":"input_json_delta","partial_json":)" + quoted + "}");
}
const std::string finish = event(R"({"type":"message_delta","delta":{"stop_reason":"tool_use"}})");

const std::string text_chunk =
    R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" caf\u00e9 \ud83d\ude00\n"}})";

}  // namespace

TEST_CASE("Anthropic events are read with any order of members", "[llm][anthropic]") {
  CHECK(chunk(text_chunk).content == " caf\xC3\xA9 \xF0\x9F\x98\x80\n");
  CHECK(
      chunk(R"({"delta":{"text":"a","type":"text_delta"},"index":0,"type":"content_block_delta"})").content ==
      "a");
  const Parsed call = chunk(R"({"delta":{"partial_json":"{","type":"input_json_delta"},"index":3})");
  REQUIRE(call.object.tool_calls.size() == 1);
  CHECK(call.object.tool_calls[0].index == 3);
  CHECK(call.object.tool_calls[0].arguments == "{");
}

TEST_CASE("Anthropic events without text are accepted", "[llm][anthropic]") {
  for (const char* json :
       {R"({"type":"ping"})", R"({"type":"content_block_stop","index":0})", R"({"type":"news","a":[1]})",
        "{}", R"({"type":"content_block_delta","index":0,"delta":null})",
        R"({"delta":{"type":"text_delta"}})", R"({"delta":{"type":"text_delta","text":7}})",
        R"({"delta":{"type":"news_delta","text":"x"}})",
        R"({"delta":{"type":"citations_delta","citation":{"text":"x"}}})", R"({"content_block":"x"})",
        R"({"type":"message_start","message":{}})", R"({"message":[1],"usage":7,"index":-1})",
        R"({"content":null})"}) {
    INFO(json);
    const Parsed parsed = chunk(json);
    CHECK(parsed.ok);
    CHECK(parsed.content.empty());
    CHECK_FALSE(parsed.object.ends);
    CHECK_FALSE(parsed.object.error);
    CHECK_FALSE(parsed.object.finish_reason);
  }
  CHECK(chunk(R"({"type":"message_stop"})").object.ends);
}

TEST_CASE("Anthropic's stop reasons are translated", "[llm][anthropic]") {
  const auto reason = [](std::string word) {
    return chunk(R"({"type":"message_delta","delta":{"stop_reason":)" + word + "}}").object.finish_reason;
  };
  CHECK(reason("\"end_turn\"") == FinishReason::complete);
  CHECK(reason("\"stop_sequence\"") == FinishReason::complete);
  CHECK(reason("\"max_tokens\"") == FinishReason::length);
  CHECK(reason("\"tool_use\"") == FinishReason::tool_calls);
  CHECK(reason("\"refusal\"") == FinishReason::refusal);
  CHECK(reason("\"something new\"") == FinishReason::other);
  CHECK_FALSE(reason("null"));
  CHECK_FALSE(reason("\"\""));
  CHECK(chunk(R"({"delta":{"stop_reason":"refusal"}})").object.refused);
  CHECK_FALSE(chunk(R"({"delta":{"stop_reason":"end_turn"}})").object.refused);
}

TEST_CASE("Anthropic's counts of the prompt are added up", "[llm][anthropic]") {
  const auto usage = [](std::string json) {
    return usage_in(R"({"type":"message_delta","delta":{},"usage":)" + json + "}");
  };
  CHECK(usage(R"({"input_tokens":3,"output_tokens":4})") == Usage{3, 4, 7});
  CHECK(
      usage(
          R"({"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,)"
          R"("cache_creation":{"x":[1]},"output_tokens":4,"output_tokens_details":{"thinking_tokens":2}})") ==
      Usage{113, 4, 117, 100, 2, true, 10});
  CHECK(usage(R"({"input_tokens":null,"cache_read_input_tokens":"7","output_tokens_details":5})") == Usage{});
  CHECK_FALSE(usage("null"));
  CHECK(usage_in(R"({"message":{"usage":{"input_tokens":8,"output_tokens":1}}})") == Usage{8, 1, 9});
}

TEST_CASE("Anthropic's errors are retryable or model-specific as documented", "[llm][anthropic][X19]") {
  const auto error = [](std::string type, std::string message = "x") {
    return detail::llm::classify(
        200, *body(R"({"type":"error","error":{"type":")" + type + R"(","message":")" + message + "\"}}")
                  .object.error);
  };
  for (const char* type : {"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})
    CHECK(error(type).retryable);
  for (const char* type : {"invalid_request_error", "authentication_error", "permission_error",
                           "billing_error", "request_too_large", "not_found_error"})
    CHECK_FALSE(error(type).retryable);
  CHECK(error("not_found_error", "model: claude-0").model_specific);
  CHECK(error("invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum").model_specific);
  CHECK_FALSE(error("invalid_request_error", "messages: at least one message is required").model_specific);
  CHECK(body(R"({"message":"no"})").object.error->message == "no");  // of a gateway before it
}

TEST_CASE("Anthropic tool calls may be interleaved and have any index", "[llm][anthropic][tools]") {
  CHECK(streamed(call_start(1, "a") + call_start(2, "b", "wait") + arguments(1, R"("{\"x\"")") +
                 arguments(2, "\"{}\"") + arguments(1, "\":1}\"") + finish)
            .tool_calls == Calls{{"a", "look", R"({"x":1})"}, {"b", "wait", "{}"}});
  std::string events;
  Calls calls;
  for (int i = 60; i < 70; ++i) {
    const std::string id = "c" + std::to_string(i);
    events += call_start(i, id) + arguments(i, "\"{\"") + arguments(i, "\"}\"");
    calls.push_back({id, "look", "{}"});
  }
  CHECK(streamed(events + finish).tool_calls == calls);
  CHECK(streamed(call_start(100, "") + call_start(101, "") + finish).tool_calls ==
        Calls{{"", "look", ""}, {"", "look", ""}});
}

TEST_CASE("calls of Anthropic's server tools are ignored", "[llm][anthropic][tools]") {
  const std::string own = R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}})";
  for (const int first : {0, 62, 63, 200}) {
    const ChatOutcome outcome = streamed(start(first, own) + arguments(first, R"("{\"query\":1}")") +
                                         call_start(first + 1, "a") + arguments(first + 1, "\"{}\"") +
                                         start(first + 2, own) + arguments(first + 2, "\"{}\"") + finish);
    CHECK(outcome.kind == ChatOutcome::Kind::completed);
    CHECK(outcome.tool_calls == Calls{{"a", "look", "{}"}});
  }
  const ChatOutcome none =
      streamed(start(0, own) + arguments(0, "\"{}\"") + event(R"({"delta":{"stop_reason":"end_turn"}})"));
  CHECK(none.tool_calls.empty());
  CHECK(none.error.code == Errc::invalid_response);
}

TEST_CASE("Anthropic arguments may come in one piece", "[llm][anthropic][tools]") {
  const auto calls = [](const std::string& input) {
    return streamed(start(0, R"({"type":"tool_use","id":"a","name":"look","input":)" + input + "}") + finish)
        .tool_calls;
  };
  CHECK(calls(R"({"x": 1})") == Calls{{"a", "look", R"({"x": 1})"}});
  CHECK(calls(R"("{\"x\":1}")") == Calls{{"a", "look", R"({"x":1})"}});
  for (const char* none : {"{}", "{ \t}", "null", "\"\""}) CHECK(calls(none) == Calls{{"a", "look", ""}});
}

TEST_CASE("invalid Anthropic tool calls fail the answer", "[llm][anthropic][tools]") {
  CHECK(streamed(arguments(0, "\"{}\"") + finish).error.message == "A tool call has no name");
  std::string list;
  for (int i = 0; i < 65; ++i) list += (i ? "," : "") + std::string(R"({"type":"tool_use","name":"x"})");
  CHECK(body(R"({"content":[)" + list + "]}").object.tool_call_fault == ToolCallFault::too_many);
}

TEST_CASE("reasoning without a signature is reported but not kept", "[llm][anthropic]") {
  const std::string thought = start(0, R"({"type":"thinking","thinking":"H"})") +
                              delta(0, R"({"type":"thinking_delta","thinking":"m."})");
  const std::string end = event(R"({"delta":{"stop_reason":"end_turn"}})");
  CHECK(streamed(thought + end).reasoning.empty());
  const auto kept =
      streamed(thought + delta(0, R"({"type":"signature_delta","signature":"s"})") + end).reasoning;
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].data == R"({"type":"thinking","thinking":"Hm.","signature":"s"})");
  CHECK(chunk(R"({"delta":{"type":"thinking_delta","thinking":"Hm."}})").reasoning == "Hm.");
}

TEST_CASE("redacted reasoning is kept unchanged", "[llm][anthropic]") {
  const std::string block = R"({"data" : "x\/y", "type":"redacted_thinking", "more":[{"a":1}]})";
  const Parsed parsed =
      chunk(R"({"type":"content_block_start","content_block": )" + block + R"( ,"index":4})");
  REQUIRE(parsed.object.reasoning_pieces.size() == 1);
  CHECK(parsed.object.reasoning_pieces[0].block == block);
  CHECK(parsed.object.reasoning_pieces[0].index == 4);
  CHECK(parsed.content.empty());
}

TEST_CASE("a whole Anthropic answer is checked to the last byte", "[llm][anthropic][O5]") {
  for (const char* text : {"", "{", R"({"content":[)", R"({"content":[{"type":"text","text":"a"}]} x)",
                           R"({"content":[{"type":tru}]})", "[1]", "null"}) {
    INFO(text);
    CHECK_FALSE(body(text).ok);
  }
  CHECK(body(R"({"content":[]})").object.has_choice);
  CHECK_FALSE(body(R"({"type":"message"})").object.has_choice);
}

TEST_CASE("no prefix of an Anthropic event is accepted", "[llm][anthropic]") {
  for (std::size_t size = 0; size < text_chunk.size(); ++size)
    if (chunk(std::string_view(text_chunk).substr(0, size)).ok) FAIL("the first " << size << " bytes");
}

TEST_CASE("Anthropic deltas are always valid UTF-8", "[llm][anthropic]") {
  const auto words = [](std::string quoted) {
    return chunk(R"({"delta":{"type":"text_delta","text":)" + quoted + "}}");
  };
  CHECK(words("\"a\xFFz\"").content == "a\xEF\xBF\xBDz");
  CHECK(words(R"("a\ud83dz")").content == "a\xEF\xBF\xBDz");
  CHECK_FALSE(words(R"("\x")").ok);
  CHECK(chunk(R"({"delta":{"type":"text_delta","text":"\ud83d"},"delta":{"type":"text_delta","text":"\x"}})")
            .content.empty());
}

TEST_CASE("broken Anthropic events end in an answer or an error", "[llm][anthropic][G15]") {
  CHECK_FALSE(chunk(R"({"delta":)" + std::string(100000, '[') + "}").ok);
  prop("whatever bytes of an event are changed, it is read or refused, and its texts are valid UTF-8", [] {
    std::string json = *rc::gen::element(
        text_chunk,
        std::string(R"({"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking",)"
                    R"("data":"x"}})"),
        std::string(
            R"({"content":[{"type":"tool_use","id":"a","name":"b","input":{"a":[1]}},)"
            R"({"type":"thinking","thinking":"\ud800","signature":"s"}],"usage":{"input_tokens":1}})"));
    for (int left = *rc::gen::inRange(1, 6); left > 0; --left) {
      const auto at = *rc::gen::inRange<std::size_t>(0, json.size());
      json[at] = *rc::gen::oneOf(rc::gen::element('"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', 'n'),
                                 rc::gen::arbitrary<char>());
    }
    for (const Parsed& parsed : {chunk(json), body(json)}) {
      RC_ASSERT(detail::core::is_utf8(parsed.content));
      RC_ASSERT(detail::core::is_utf8(parsed.reasoning));
    }
  });
}
