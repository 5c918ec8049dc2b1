// Answers that are not quite as documented, and are read all the same: forms of a stream and of its end,
// halves of characters, numbers that no parser likes, names that come late, repeated requests.
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using detail::llm::WireFormat;
using Calls = std::vector<ToolCall>;

namespace {

const WireFormat& chat = detail::llm::openai_chat();
const WireFormat& messages = detail::llm::anthropic_messages();
const WireFormat& responses = detail::llm::openai_responses();
const std::string grin = "\xF0\x9F\x98\x80", unknown = "\xEF\xBF\xBD";

struct Form {
  bool stream = true;
  std::string type = all_events;
  std::size_t bytes = SIZE_MAX;
  std::size_t max_line = 1 << 20;
  std::size_t max_response = 1 << 20;
};

ChatRecord heard_of(const WireFormat& format, std::string_view body, const Form& form) {
  CallFixture fixture(form.stream, form.max_line, form.max_response, format);
  fixture.call->on_head({.status = 200, .content_type = form.type});
  for (; !body.empty(); body.remove_prefix(std::min(form.bytes, body.size())))
    if (!fixture.call->on_body(body.substr(0, form.bytes))) break;
  return fixture.end();
}

// In pieces of 1 and 7 bytes and whole.
std::vector<ChatRecord> heard_of(const WireFormat& format, const std::string& body, Form form = {}) {
  std::vector<ChatRecord> records;
  for (const std::size_t bytes : {body.size() + 1, std::size_t{7}, std::size_t{1}}) {
    form.bytes = bytes;
    records.push_back(heard_of(format, std::string_view(body), form));
    REQUIRE(records.back().outcomes.size() == 1);
  }
  return records;
}

void check_text(const WireFormat& format, const std::string& body, const std::string& text,
                const Form& form = {}) {
  for (const ChatRecord& heard : heard_of(format, body, form)) {
    REQUIRE(heard.completed());
    CHECK(heard.text() == text);
  }
}
void check_calls(const WireFormat& format, const std::string& body, const Calls& calls) {
  for (const ChatRecord& heard : heard_of(format, body)) {
    REQUIRE(heard.completed());
    CHECK(heard.outcomes[0].tool_calls == calls);
  }
}

std::string data(const std::string& json) {
  return "data: " + json + "\n\n";
}
std::string delta(const std::string& members) {
  return data(R"({"choices":[{"delta":{)" + members + "}}]}");
}
std::string call_delta(const std::string& members, const std::string& function) {
  return delta(R"("tool_calls":[{"index":0,)" + members + R"("function":{)" + function + "}}]");
}
std::string body_with(const std::string& members) {
  return R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],)" + members + "}";
}

}  // namespace

TEST_CASE("a stream is read whatever was asked for and whatever type it has", "[llm][answers]") {
  const std::string stream = piece("Hi") + finish_chunk + done_chunk;
  for (const bool asked : {true, false})
    for (const std::string type : {"application/json", "", "text/plain", "text/event-stream"}) {
      INFO(type << asked);
      check_text(chat, stream, "Hi", {.stream = asked, .type = type});
      check_text(chat, "\n: ping\n\n" + stream, "Hi", {.stream = asked, .type = type});
      check_text(chat, body_with(R"("model":"m")"), "Hi", {.stream = asked, .type = type});
    }
}

TEST_CASE("a stream ends with its mark, also with blanks or quotes around it", "[llm][answers]") {
  for (const std::string end : {"[DONE]", " [DONE] ", "[DONE] \r", "\"[DONE]\"", "[DONE]\t"}) {
    INFO(end);
    check_text(chat, piece("Hi") + "data:" + end + "\n\n" + piece("ignored"), "Hi");
  }
  for (const std::string nothing : {"null", " null ", "", " "})
    check_text(chat, data(nothing) + piece("Hi") + finish_chunk + data(nothing) + done_chunk, "Hi");
}

TEST_CASE("halves of a character in two chunks are one character", "[llm][answers]") {
  check_text(chat, piece("a\\ud83d") + piece("\\ude00b") + finish_chunk, "a" + grin + "b");
  check_text(chat, piece("\\ud83d") + piece("\\ude00") + piece("\\ud83d") + piece("\\ude00") + finish_chunk,
             grin + grin);
  check_text(chat, piece("\\ud83d") + piece("") + piece("\\ude00") + finish_chunk, grin);
  check_text(
      messages,
      data(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83d"}})") +
          data(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00"}})") +
          data(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})"),
      grin);
  check_text(responses,
             data(R"({"type":"response.output_text.delta","output_index":0,"delta":"\ud83d"})") +
                 data(R"({"type":"response.output_text.delta","output_index":0,"delta":"\ude00"})") +
                 data(R"({"type":"response.completed","response":{"status":"completed","output":[]}})"),
             grin);
  for (const ChatRecord& heard :
       heard_of(chat, delta(R"("reasoning_content":"\ud83d")") + delta(R"("reasoning_content":"\ude00")") +
                          piece("x") + finish_chunk))
    CHECK(heard.reasoning == grin);
}

TEST_CASE("halves of a character are one character in every text of an answer", "[llm][answers]") {
  const std::string high = R"(\ud83d)", low = R"(\ude00)";
  const auto refusal = [](const std::string& words) { return delta(R"("refusal":")" + words + "\""); };
  check_text(chat, refusal("a" + high) + refusal(low + "b") + finish_chunk, "a" + grin + "b");
  check_text(chat, refusal(high) + refusal("b") + refusal(high) + finish_chunk, unknown + "b" + unknown);
  check_text(chat, piece("a" + high) + refusal(low) + finish_chunk, "a" + unknown + "\n\n" + unknown);
  const auto part = [](const std::string& words) { return R"({"type":"text","text":")" + words + "\"}"; };
  const auto parts = [&](const std::string& all) { return delta(R"("content":[)" + all + "]"); };
  check_text(chat, parts(part("a" + high)) + parts(part(low + "b")) + finish_chunk, "a" + grin + "b");
  check_text(chat, parts(part(high) + "," + part(low)) + finish_chunk, grin);
  check_text(chat, parts(part(high) + "," + part("b")) + parts(part(low)) + finish_chunk,
             unknown + "b" + unknown);
  const auto reasons = [](const std::string& events) {
    for (const ChatRecord& heard : heard_of(chat, events + piece("x") + finish_chunk))
      CHECK(heard.reasoning == grin);
  };
  const auto thinks = [&](const std::string& all) {
    return parts(R"({"type":"thinking","thinking":[)" + all + "]}");
  };
  reasons(thinks(part(high)) + thinks(part(low)));
  reasons(thinks(part(high) + "," + part(low)));
  const auto details = [](const std::string& type, const std::string& member, const std::string& words) {
    return delta(R"("reasoning_details":[{"type":"reasoning.)" + type + R"(","index":0,")" + member +
                 R"(":")" + words + R"("}])");
  };
  reasons(details("text", "text", high) + details("text", "text", low));
  reasons(details("summary", "summary", high) + details("summary", "summary", low));
  const auto summary = [](const std::string& words) {
    return data(R"({"type":"response.reasoning_summary_text.delta","output_index":0,"delta":")" + words +
                "\"}");
  };
  const auto raw = [](const std::string& words) {
    return data(R"({"type":"response.reasoning_text.delta","output_index":0,"delta":")" + words + "\"}");
  };
  const std::string end =
      data(R"({"type":"response.completed","response":{"status":"completed","output":[]}})");
  const std::string shown =
      data(R"({"type":"response.output_text.delta","output_index":1,"delta":"x"})") + end;
  for (const std::string& events : {summary(high) + summary(low), raw(high) + raw(low)})
    for (const ChatRecord& heard : heard_of(responses, events + shown)) CHECK(heard.reasoning == grin);
  const auto refuses = [](const std::string& words) {
    return data(R"({"type":"response.refusal.delta","output_index":0,"delta":")" + words + "\"}");
  };
  check_text(responses, refuses(high) + refuses(low) + end, grin);
  const auto thinking = [](const std::string& words) {
    return data(R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":")" +
                words + "\"}}");
  };
  const std::string stop =
      data(R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"x"}})") +
      data(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})");
  for (const ChatRecord& heard : heard_of(messages, thinking(high) + thinking(low) + stop))
    CHECK(heard.reasoning == grin);
}

TEST_CASE("halves of a character in the start of a block and in its deltas are one character",
          "[llm][answers]") {
  const auto start = [](int index, const std::string& type, const std::string& words) {
    return data(R"({"type":"content_block_start","index":)" + std::to_string(index) +
                R"(,"content_block":{"type":")" + type + R"(",")" + type + R"(":")" + words + "\"}}");
  };
  const auto more = [](int index, const std::string& type, const std::string& words) {
    return data(R"({"type":"content_block_delta","index":)" + std::to_string(index) +
                R"(,"delta":{"type":")" + type + R"(_delta",")" + type + R"(":")" + words + "\"}}");
  };
  const std::string end = data(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})");
  const std::string high = R"(\ud83d)", low = R"(\ude00)";
  check_text(messages, start(0, "text", "a" + high) + more(0, "text", low + "b") + end, "a" + grin + "b");
  check_text(messages, start(0, "text", high) + more(0, "text", low) + end, grin);
  check_text(messages, start(0, "text", "a" + high) + more(0, "text", "b") + end, "a" + unknown + "b");
  check_text(messages, start(0, "text", "a" + high) + end, "a" + unknown);
  for (const ChatRecord& heard : heard_of(
           messages, start(0, "thinking", high) + more(0, "thinking", low) + start(1, "text", "x") + end))
    CHECK(heard.reasoning == grin);
  const auto whole = [](const std::string& blocks) {
    return R"({"type":"message","content":[)" + blocks + R"(],"stop_reason":"end_turn"})";
  };
  check_text(messages, whole(R"({"type":"text","text":"a)" + high + "\"}"), "a" + unknown,
             {.stream = false, .type = json_type});
}

TEST_CASE("half a character without its other half is replaced", "[llm][answers]") {
  check_text(chat, piece("a\\ud83d") + finish_chunk, "a" + unknown);
  check_text(chat, piece("a\\ud83d") + piece("b") + finish_chunk, "a" + unknown + "b");
  check_text(chat, piece("\\ude00b") + finish_chunk, unknown + "b");
  check_text(chat, piece("\\ud83d") + piece("\\ud83d\\ude00") + finish_chunk, unknown + grin);
  check_text(chat, piece("a\\\\ud83d") + piece("\\\\ude00") + finish_chunk, "a\\ud83d\\ude00");
  check_text(chat, R"({"choices":[{"message":{"content":"a\ud83d"},"finish_reason":"stop"}]})", "a" + unknown,
             {.stream = false, .type = json_type});
}

TEST_CASE("halves of a character in tool arguments are one character", "[llm][answers][tools]") {
  const std::string end = data(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})");
  const Calls calls = {{"a", "look", R"({"x":")" + grin + "\"}"}};
  check_calls(chat,
              call_delta(R"("id":"a",)", R"("name":"look","arguments":"{\"x\":\"\ud83d")") +
                  call_delta("", R"("arguments":"\ude00\"}")") + end,
              calls);
  const auto input = [](const std::string& json) {
    return data(
        R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":")" +
        json + "\"}}");
  };
  check_calls(
      messages,
      data(
          R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"look","input":{}}})") +
          input(R"({\"x\":\"\ud83d)") + input(R"(\ude00\"})") +
          data(R"({"type":"message_delta","delta":{"stop_reason":"tool_use"}})"),
      calls);
  const auto arguments = [](const std::string& json) {
    return data(
        R"({"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f","delta":")" +
        json + "\"}");
  };
  check_calls(
      responses,
      data(
          R"({"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"a","name":"look","arguments":""}})") +
          arguments(R"({\"x\":\"\ud83d)") + arguments(R"(\ude00\"})") +
          data(R"({"type":"response.completed","response":{"status":"completed","output":[]}})"),
      calls);
}

TEST_CASE("numbers of any size in members that are not used break no body", "[llm][answers]") {
  const Form whole{.stream = false, .type = json_type};
  for (const char* number :
       {"18446744073709551616", "-99999999999999999999999", "1e400", "-1E+9999", "1.5e-400", "NaN",
        "Infinity", "-Infinity", "123456789012345678901234567890.5"}) {
    INFO(number);
    for (const std::string members : {R"("created":)", R"("a":{"b":[1,)"}) {
      const std::string close = members.ends_with(",") ? "]}" : "";
      check_text(chat, body_with(members + number + close), "Hi", whole);
    }
    check_text(
        responses,
        R"({"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}],"n":)" +
            std::string(number) + "}",
        "Hi", whole);
    check_text(messages,
               R"({"content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","n":)" +
                   std::string(number) + "}",
               "Hi", whole);
  }
  for (const char* broken : {"01", "1.", "1e", "-", "+1", "NaNa", "1x", "18446744073709551616x"}) {
    INFO(broken);
    for (const ChatRecord& heard : heard_of(chat, body_with(std::string(R"("a":)") + broken), whole))
      CHECK(heard.failed_with(Errc::invalid_response));
  }
}

TEST_CASE("a name may come after the arguments of its call", "[llm][answers][tools]") {
  const std::string end = data(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})");
  check_calls(chat,
              call_delta(R"("id":"a",)", R"("arguments":"{\"x\":")") + call_delta("", R"("arguments":"1}")") +
                  call_delta("", R"("name":"look")") + end,
              {{"a", "look", R"({"x":1})"}});
  check_calls(chat,
              call_delta(R"("id":"a",)", R"("arguments":"{}")") + call_delta("", R"("name":"look")") + end,
              {{"a", "look", "{}"}});
}

TEST_CASE("a call without a name is left out, and the others run", "[llm][answers][tools]") {
  const std::string end = data(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})");
  const std::string nameless = delta(R"("tool_calls":[{"index":1,"id":"b","function":{"arguments":"{}"}}])");
  check_calls(chat, call_delta(R"("id":"a",)", R"("name":"look","arguments":"{}")") + nameless + end,
              {{"a", "look", "{}"}});
  check_text(chat, piece("Hi") + nameless + end, "Hi");
  for (const ChatRecord& heard : heard_of(chat, nameless + end)) {
    REQUIRE(heard.failed_with(Errc::invalid_response));
    CHECK(heard.error().retryable);
  }
}

TEST_CASE("a call whose pieces have ids of their own and repeat its name is one call",
          "[llm][answers][tools]") {
  check_calls(chat,
              call_delta(R"("id":"a1",)", R"("name":"look","arguments":"{\"x\":")") +
                  call_delta(R"("id":"a2",)", R"("name":"look","arguments":"1}")") + finish_chunk,
              {{"a1", "look", R"({"x":1})"}});
}

TEST_CASE("counts are read where servers put them", "[llm][answers][usage]") {
  const auto usage_of = [](const std::string& last) {
    return heard_of(chat, std::string_view(piece("Hi") + last + done_chunk), Form{}).outcomes.at(0).usage;
  };
  const std::string counts =
      R"("usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"cached_tokens":3})";
  const Usage expected{5, 2, 7, 3};
  CHECK(usage_of(data(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop",)" + counts + "}]}")) ==
        expected);
  CHECK(usage_of(finish_chunk + data(R"({"choices":[],)" + counts + "}")) == expected);
  CHECK(usage_of(finish_chunk + data(R"({"choices":[],"usage":{"input_tokens":5,"output_tokens":2}})")) ==
        Usage{5, 2, 7});
  CHECK(
      usage_of(
          finish_chunk +
          data(
              R"({"choices":[],"usage":{"input_tokens":9,"prompt_tokens":5,"output_tokens":9,"completion_tokens":2}})")) ==
      Usage{5, 2, 7});
}

TEST_CASE("what is delivered counts against the limit of an answer, and its envelopes do not",
          "[llm][answers][limits]") {
  std::string stream;
  for (int i = 0; i < 100; ++i) stream += piece("ab");
  check_text(chat, stream + finish_chunk,
             [] {
               std::string all;
               for (int i = 0; i < 100; ++i) all += "ab";
               return all;
             }(),
             {.max_response = 200});
  const auto is_too_large = [](const WireFormat& format, const std::string& events, const Form& form) {
    for (const ChatRecord& heard : heard_of(format, events, form)) {
      CHECK(heard.failed_with(Errc::response_too_large));
      CHECK(heard.text().size() <= form.max_response);
      CHECK(heard.error().message.find("max_response_bytes") != std::string::npos);
    }
  };
  is_too_large(chat, stream + finish_chunk, {.max_response = 199});
  is_too_large(chat, delta(R"("reasoning":"123456")") + piece("123456") + finish_chunk, {.max_response = 11});
  is_too_large(chat, body_with(R"("a":1)"), {.stream = false, .type = json_type, .max_response = 20});
}

TEST_CASE("instructions that a response repeats do not count in its lines",
          "[llm][responses][answers][limits]") {
  const std::string long_text(3000, 'x');
  const std::string echo = R"("instructions":"You \"are\" \\)" + long_text +
                           R"(","tools":[{"name":"look","d":"])" + long_text +
                           R"(","p":{"type":[]}}],"metadata":{"a":"}"},)";
  const auto response = [&](const std::string& type, const std::string& rest) {
    return data(R"({"type":"response.)" + type + R"(","response":{"id":"r",)" + echo + rest + "}}");
  };
  const std::string text = R"({"type":"response.output_text.delta","output_index":0,"delta":"Hi"})";
  const std::string message =
      R"({"type":"message","content":[{"type":"output_text","text":"Hi instructions"}]})";
  const Form form{.max_line = 1000};
  check_text(responses,
             response("created", R"("output":[])") + data(text) + response("completed", R"("output":[])"),
             "Hi", form);
  check_text(responses,
             response("created", R"("output":[])") + response("completed", R"("output":[)" + message + "]"),
             "Hi instructions", form);
  const auto is_too_long = [&](const WireFormat& format, const std::string& events) {
    for (const ChatRecord& heard : heard_of(format, events, form))
      CHECK(heard.failed_with(Errc::response_too_large));
  };
  is_too_long(responses, response("created", R"("other":")" + long_text + "\""));
  is_too_long(chat, response("created", R"("output":[])"));
}
