// What servers send more than once: whole messages beside or after their deltas, calls again at another
// place, texts in the events that end them. Each is heard once, and what is missing is completed.
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/observe/counted_heap.hpp"

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

struct Heard {
  ChatRecord record;
  std::vector<std::string> log;
};

Heard heard_of(const WireFormat& format, std::string_view events, std::size_t bytes) {
  std::vector<std::string> log;
  CallFixture fixture(true, 1 << 20, 1 << 20, format);
  fixture.in_log = [&log](std::string_view message) { log.emplace_back(message); };
  fixture.call->on_head({.status = 200, .content_type = all_events});
  for (; !events.empty(); events.remove_prefix(std::min(bytes, events.size())))
    if (!fixture.call->on_body(events.substr(0, bytes))) break;
  const ChatRecord record = fixture.end();
  return {record, log};
}

// The same in pieces of 1 and 7 bytes and whole. `noted`: the log tells of a difference.
void check(const WireFormat& format, const std::string& events, std::string_view text,
           const Calls& calls = {}, bool noted = false, std::string_view reasoning = "") {
  for (const std::size_t bytes : {events.size(), std::size_t{7}, std::size_t{1}}) {
    const Heard heard = heard_of(format, events, bytes);
    REQUIRE(heard.record.completed());
    CHECK(heard.record.text() == text);
    CHECK(heard.record.outcomes[0].tool_calls == calls);
    CHECK(heard.record.reasoning == reasoning);
    CHECK(heard.log.size() == (noted ? 1U : 0U));
  }
}

std::string data(const std::string& json) {
  return "data: " + json + "\n\n";
}
std::string choice(const std::string& members) {
  return data(R"({"choices":[{"index":0,)" + members + "}]}");
}
std::string call_json(const std::string& id, const std::string& name, const std::string& arguments,
                      const std::string& more = "") {
  return "{" + more + (id.empty() ? "" : R"("id":")" + id + R"(",)") +
         R"("type":"function","function":{"name":")" + name + R"(","arguments":")" + arguments + "\"}}";
}
std::string delta_call(const std::string& call) {
  return choice(R"("delta":{"tool_calls":[)" + call + "]}");
}
const std::string at_0 = R"("index":0,)", at_1 = R"("index":1,)";
const Calls one_look = {{"a", "look", "{}"}};

std::string event(const std::string& type, const std::string& members) {
  return data(R"({"type":"response.)" + type + "\"," + members + "}");
}
std::string completed(const std::string& items = "") {
  return event("completed", R"("response":{"status":"completed","output":[)" + items + "]}");
}
std::string message_item(const std::string& id, const std::string& words) {
  return R"({"type":"message","id":")" + id + R"(","content":[{"type":"output_text","text":")" + words +
         "\"}]}";
}

}  // namespace

TEST_CASE("a message beside or after the deltas of a chat answer is not heard again",
          "[llm][openai][repeats]") {
  const auto both = [](const std::string& delta, const std::string& all) {
    return choice(R"("delta":{"content":")" + delta + R"("},"message":{"role":"assistant","content":")" +
                  all + "\"}");
  };
  const auto both_turned = [](const std::string& delta, const std::string& all) {
    return choice(R"("message":{"content":")" + all + R"("},"delta":{"content":")" + delta + "\"}");
  };
  const std::string last = choice(R"("delta":{},"message":{"content":"Hello"},"finish_reason":"stop")");
  check(chat, both("He", "He") + both("llo", "Hello") + last + done_chunk, "Hello");
  check(chat, both_turned("He", "He") + both_turned("llo", "Hello") + last, "Hello");
  check(chat, piece("He") + piece("llo") + last + done_chunk, "Hello");
  check(chat, both("He", "He") + both("llo", "llo") + finish_chunk, "Hello", {}, true);  // pieces in both
}

TEST_CASE("a message completes a chat answer and never adds to it", "[llm][openai][repeats]") {
  const auto end = [](const std::string& message) {
    return choice(R"("delta":{},"finish_reason":"stop","message":)" + message);
  };
  check(chat, piece("He") + end(R"({"content":"Hello"})"), "Hello");
  check(chat, end(R"({"content":"Hello"})"), "Hello");
  check(chat, piece("Hello") + end(R"({"content":"Help"})"), "Hello", {}, true);
  check(chat, piece("Hello") + end(R"({"content":""})"), "Hello");
  check(chat, piece("Hello") + end(R"({"content":null,"reasoning_content":"hm"})"), "Hello", {}, false, "hm");
  check(chat,
        choice(R"("delta":{"reasoning_content":"h"})") + end(R"({"content":"Hi","reasoning_content":"hm"})"),
        "Hi", {}, false, "hm");
  check(chat, choice(R"("delta":{"refusal":"N"})") + end(R"({"content":null,"refusal":"No."})"), "No.");
}

TEST_CASE("a stream of messages instead of deltas is read", "[llm][openai][repeats]") {
  const auto said = [](const std::string& words) {
    return choice(R"("message":{"content":")" + words + "\"}");
  };
  check(chat, said("Hel") + said("Hello") + finish_chunk, "Hello");
  check(chat, said("Hel") + said("lo") + finish_chunk, "Hello");
}

TEST_CASE("calls in a message that repeats the deltas run once", "[llm][openai][repeats][tools]") {
  const auto last = [](const std::string& calls) {
    return choice(R"("delta":{},"finish_reason":"tool_calls","message":{"content":"","tool_calls":[)" +
                  calls + "]}");
  };
  const std::string look = delta_call(call_json("a", "look", "{}", at_0));
  check(chat, look + last(call_json("a", "look", "{}")), "", one_look);
  check(chat, look + last(call_json("", "look", "{ }")), "", one_look);
  check(chat, look + last(call_json("z", "look", "{}")), "", one_look);
  check(chat, last(call_json("a", "look", "{}")), "", one_look);
  check(chat, look + last(call_json("a", "look", "{}") + "," + call_json("b", "wait", "{}")), "",
        {{"a", "look", "{}"}, {"b", "wait", "{}"}});
  check(chat, look + last(call_json("a", "look", R"({\"x\":1})")), "", {{"a", "look", R"({"x":1})"}});
  const std::string half = delta_call(call_json("a", "look", R"({\"x\")", at_0));
  check(chat, half + last(call_json("a", "look", R"({\"x\":1})")), "", {{"a", "look", R"({"x":1})"}});
  const std::string whole = delta_call(call_json("a", "look", R"({\"x\":1})", at_0));
  check(chat, whole + last(call_json("a", "look", R"({\"x\":2})")), "", {{"a", "look", R"({"x":1})"}}, true);
}

TEST_CASE("the same call at any index is one call", "[llm][openai][repeats][tools]") {
  const std::string end = choice(R"("delta":{},"finish_reason":"tool_calls")");
  const std::string look = call_json("a", "look", "{}", at_0);
  check(chat, delta_call(look) + delta_call(look) + end, "", one_look);
  check(chat, delta_call(look) + delta_call(call_json("a", "look", "{}", at_1)) + end, "", one_look);
  check(chat, delta_call(call_json("a", "look", "{}")) + delta_call(call_json("a", "look", "{}")) + end, "",
        one_look);
  check(chat, delta_call(look + "," + call_json("a", "look", "{}", at_1)) + end, "", one_look);
  const auto part = [](const std::string& arguments, const std::string& head) {
    return delta_call("{" + head + R"("function":{"arguments":")" + arguments + "\"}}");
  };
  const std::string begin_again = delta_call(call_json("a", "look", "", at_0));
  check(
      chat,
      begin_again + part("{", at_0) + part("}", at_0) + begin_again + part("{", at_0) + part("}", at_0) + end,
      "", one_look);
  check(chat, delta_call(look) + part("{}", at_0) + end, "", one_look);
}

TEST_CASE("a repeated id with another name or other arguments is a second call",
          "[llm][openai][repeats][tools]") {
  const std::string end = choice(R"("delta":{},"finish_reason":"tool_calls")");
  const std::string look = delta_call(call_json("a", "look", "{}", at_0));
  check(chat, look + delta_call(call_json("a", "wait", "{}", at_1)) + end, "",
        {{"a", "look", "{}"}, {"", "wait", "{}"}});
  check(chat, look + delta_call(call_json("a", "look", R"({\"x\":1})", at_1)) + end, "",
        {{"a", "look", "{}"}, {"", "look", R"({"x":1})"}});
  check(chat, look + delta_call(call_json("a", "wait", "{}", at_0)) + end, "",
        {{"a", "look", "{}"}, {"", "wait", "{}"}});
  const std::string look_1 = R"({\"x\":1})", look_2 = R"({\"x\":2})";
  const std::string twice = delta_call(call_json("a", "look", look_2, at_1)) +
                            delta_call(call_json("a", "look", look_2, R"("index":2,)"));
  check(chat, delta_call(call_json("a", "look", look_1, at_0)) + twice + end, "",
        {{"a", "look", R"({"x":1})"}, {"", "look", R"({"x":2})"}});
  check(chat, look + twice + delta_call(call_json("a", "wait", "{}", R"("index":3,)")) + twice + end, "",
        {{"a", "look", "{}"}, {"", "look", R"({"x":2})"}, {"", "wait", "{}"}});
}

TEST_CASE("a second call with a repeated id runs once in the other dialects, too",
          "[llm][anthropic][responses][repeats][tools]") {
  const auto use = [](int index, const std::string& input) {
    return data(R"({"type":"content_block_start","index":)" + std::to_string(index) +
                R"(,"content_block":{"type":"tool_use","id":"a","name":"look","input":)" + input + "}}") +
           data(R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}");
  };
  const Calls two = {{"a", "look", R"({"x":1})"}, {"", "look", R"({"x":2})"}};
  check(messages,
        use(0, R"({"x":1})") + use(1, R"({"x":2})") + use(2, R"({"x":2})") +
            data(R"({"type":"message_delta","delta":{"stop_reason":"tool_use"}})"),
        "", two);
  const auto item = [](int index, const std::string& arguments) {
    return event("output_item.done",
                 R"("output_index":)" + std::to_string(index) + R"(,"item":{"type":"function_call","id":"f)" +
                     std::to_string(index) + R"(","call_id":"a","name":"look","arguments":")" + arguments +
                     "\"}");
  };
  check(responses, item(0, R"({\"x\":1})") + item(1, R"({\"x\":2})") + item(2, R"({\"x\":2})") + completed(),
        "", two);
}

TEST_CASE("arguments in another spelling are the same arguments", "[llm][openai][repeats][tools]") {
  const std::string end = choice(R"("delta":{},"finish_reason":"tool_calls")");
  const auto check_pair = [&](const std::string& first, const std::string& second, bool same) {
    const auto in_json = [](const std::string& text) {
      std::string escaped;
      for (const char letter : text)
        escaped += std::string(letter == '"' || letter == '\\' ? "\\" : "") + letter;
      return escaped;
    };
    const std::string a = call_json("a", "look", in_json(first), at_0);
    const std::string b = call_json("a", "look", in_json(second), at_1);
    const std::string c = call_json("z", "look", in_json(second));
    INFO(first << " and " << second);
    Calls calls = {{"a", "look", first}};
    const bool is_noted = !same;
    check(chat,
          delta_call(a) + choice(R"("delta":{},"finish_reason":"tool_calls","message":{"tool_calls":[)" +
                                 call_json("a", "look", in_json(second)) + "]}"),
          "", calls, is_noted);
    if (!same) calls.push_back({"", "look", second});
    check(chat, delta_call(a) + delta_call(b) + end, "", calls);
    if (!same) calls[1].id = "z";
    check(chat,
          delta_call(a) +
              choice(R"("delta":{},"finish_reason":"tool_calls","message":{"tool_calls":[)" + c + "]}"),
          "", calls);
  };
  check_pair(R"({"city":"Z\u00fcrich"})", "{\"city\":\"Z\xC3\xBCrich\"}", true);
  check_pair(R"({"a\/b":1})", R"({"a/b":1})", true);
  check_pair(R"({"a":1,"b":[{"c":2,"d":"\u0041"}]})", R"({"b": [{"d": "A", "c": 2}], "a": 1})", true);
  check_pair(R"({"a":1.0,"b":-0,"c":1e2})", R"({"a":1,"b":0,"c":100})", true);
  check_pair(R"({"a":[1,2]})", R"({"a":[2,1]})", false);
  check_pair(R"({"a":"1"})", R"({"a":1})", false);
  check_pair(R"({"a":1})", R"({"a":true})", false);
  check_pair(R"({"a":"b\\u0041"})", R"({"a":"bA"})", false);
  check_pair(R"({"a":18446744073709551617})", R"({"a":18446744073709551618})", false);
  check_pair(R"({"a":1e400})", R"({"a":1e401})", false);
  check_pair(R"({"a":0.1})", R"({"a":0.01})", false);
  check_pair(R"({"a":1,"a":2})", R"({"a":2,"a":1})", false);
  check_pair(R"({"a":[]})", R"({"a":{}})", false);
  const std::string again = delta_call("{" + at_0 + R"("function":{"arguments":"{\"x\":\"A\"}"}})") + end;
  check(chat, delta_call(call_json("a", "look", R"({\"x\":\"\\u0041\"})", at_0)) + again, "",
        {{"a", "look", R"({"x":"A"})"}});
}

TEST_CASE("two equal calls without ids are two calls", "[llm][openai][repeats][tools]") {
  const std::string end = choice(R"("delta":{},"finish_reason":"tool_calls")");
  const Calls two = {{"", "roll", "{}"}, {"", "roll", "{}"}};
  const std::string roll = call_json("", "roll", "{}");
  check(chat, delta_call(roll) + delta_call(roll) + end, "", two);
  check(chat,
        delta_call(call_json("", "roll", "{}", at_0)) + delta_call(call_json("", "roll", "{}", at_1)) + end,
        "", two);
  check(chat,
        delta_call(roll) + delta_call(roll) +
            choice(R"("finish_reason":"tool_calls","message":{"tool_calls":[)" + roll + "," + roll + "]}"),
        "", two);
}

TEST_CASE("Responses texts come once, in deltas or in the events that end them",
          "[llm][responses][repeats]") {
  const std::string at = R"("output_index":0,"content_index":0,"item_id":"m",)";
  const auto delta = [&](const std::string& words) {
    return event("output_text.delta", at + R"("delta":")" + words + "\"");
  };
  const std::string text_done = event("output_text.done", at + R"("text":"Hello")");
  const std::string part_done =
      event("content_part.done", at + R"("part":{"type":"output_text","text":"Hello"})");
  const std::string added =
      event("output_item.added", R"("output_index":0,"item":{"type":"message","id":"m","content":[]})");
  const std::string item_done =
      event("output_item.done", R"("output_index":0,"item":)" + message_item("m", "Hello"));
  const std::string all = completed(message_item("m", "Hello"));
  check(responses, added + delta("Hel") + delta("lo") + text_done + part_done + item_done + all, "Hello");
  for (const std::string& only :
       {text_done, part_done, item_done, added + item_done, added + text_done + item_done}) {
    check(responses, only + completed(), "Hello");
    check(responses, only + all, "Hello");
  }
  for (const std::string& only : {text_done, part_done, item_done})
    check(responses, added + delta("Hel") + only + all, "Hello");
  check(responses, all, "Hello");
  check(responses, delta("Help") + text_done + all, "Help", {}, true);
  const std::string refused = event("refusal.done", at + R"("refusal":"No.")");
  check(responses, refused + completed(), "No.");
  check(responses, event("refusal.delta", at + R"("delta":"N")") + refused + completed(), "No.");
}

TEST_CASE("two Responses messages that come in one event each are separated", "[llm][responses][repeats]") {
  const auto done = [](int index, const std::string& id, const std::string& words) {
    return event("output_item.done",
                 R"("output_index":)" + std::to_string(index) + R"(,"item":)" + message_item(id, words));
  };
  const std::string both = message_item("a", "One") + "," + message_item("b", "Two");
  check(responses, done(0, "a", "One") + done(1, "b", "Two") + completed(both), "One\n\nTwo");
  check(responses, done(0, "a", "One") + completed(both), "One\n\nTwo");
  check(responses, done(0, "a", "One") + done(1, "b", "Two") + done(0, "a", "One") + completed(),
        "One\n\nTwo");
}

TEST_CASE("Responses reasoning comes once, in deltas or in the events that end it",
          "[llm][responses][repeats]") {
  const auto summary = [](int index, const std::string& kind, const std::string& member,
                          const std::string& words) {
    return event("reasoning_summary_text." + kind, R"("output_index":0,"summary_index":)" +
                                                       std::to_string(index) + ",\"" + member + "\":\"" +
                                                       words + "\"");
  };
  const std::string item = R"({"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"One"},)"
                           R"({"type":"summary_text","text":"Two"}]})";
  const std::string done = event("output_item.done", R"("output_index":0,"item":)" + item);
  check(responses,
        summary(0, "delta", "delta", "One") + summary(1, "delta", "delta", "Two") + done + completed(item),
        "", {}, false, "One\n\nTwo");
  check(responses,
        summary(0, "done", "text", "One") + summary(1, "done", "text", "Two") + done + completed(item), "",
        {}, false, "One\n\nTwo");
  check(responses, done + completed(item), "", {}, false, "One\n\nTwo");
  check(responses, completed(item), "", {}, false, "One\n\nTwo");
}

TEST_CASE("Responses calls without an output index are told apart by their items",
          "[llm][responses][repeats][tools]") {
  const auto item = [](const std::string& n, const std::string& arguments) {
    return R"("item":{"type":"function_call","id":"fc_)" + n + R"(","call_id":"call_)" + n +
           R"(","name":"look","arguments":")" + arguments + "\"}";
  };
  const auto arguments = [](const std::string& n, const std::string& words) {
    return event("function_call_arguments.delta", R"("item_id":"fc_)" + n + R"(","delta":")" + words + "\"");
  };
  const Calls two = {{"call_a", "look", R"({"x":1})"}, {"call_b", "look", R"({"x":2})"}};
  const std::string begun =
      event("output_item.added", item("a", "")) + event("output_item.added", item("b", ""));
  const std::string pieces = arguments("a", R"({\"x\")") + arguments("b", R"({\"x\")") +
                             arguments("a", ":1}") + arguments("b", ":2}");
  const std::string done = event("output_item.done", item("a", R"({\"x\":1})")) +
                           event("output_item.done", item("b", R"({\"x\":2})"));
  check(responses, begun + pieces + completed(), "", two);
  check(responses, begun + pieces + done + completed(), "", two);
  check(responses, done + completed(), "", two);
  check(responses, begun + done + completed(), "", two);
}

TEST_CASE("the same Responses call in two items is one call", "[llm][responses][repeats][tools]") {
  const std::string call =
      R"({"type":"function_call","id":"f","call_id":"a","name":"look","arguments":"{}"})";
  const auto done = [&](const std::string& index) {
    return event("output_item.done", index + R"("item":)" + call);
  };
  check(responses, done(R"("output_index":0,)") + done(R"("output_index":1,)") + completed(call), "",
        one_look);
  check(responses, done("") + done("") + completed(call), "", one_look);
}

TEST_CASE("a signature that comes only at the end of its block is kept", "[llm][anthropic][repeats]") {
  const std::string thinking = R"({"type":"thinking","thinking":"hm","signature":"S"})";
  const std::string events =
      data(R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}})") +
      data(R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}})") +
      data(R"({"type":"content_block_stop","index":0,"content_block":)" + thinking + "}") +
      data(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})");
  const Heard heard = heard_of(messages, events, 7);
  REQUIRE(heard.record.completed());
  CHECK(heard.record.reasoning == "hm");
  REQUIRE(heard.record.outcomes[0].reasoning.size() == 1);
  CHECK(heard.record.outcomes[0].reasoning[0].data == thinking);
}

TEST_CASE("a new part of a summary is announced, or named by its deltas", "[llm][responses][repeats]") {
  const auto added = [](int index) {
    return event("reasoning_summary_part.added",
                 R"("output_index":0,"summary_index":)" + std::to_string(index));
  };
  const auto delta = [](const std::string& words) {
    return event("reasoning_summary_text.delta", R"("output_index":0,"delta":")" + words + "\"");
  };
  check(responses, added(0) + delta("O") + delta("ne") + added(1) + delta("Two") + completed(), "", {}, false,
        "One\n\nTwo");
}

TEST_CASE("what an Anthropic proxy repeats at the ends of blocks is not heard again",
          "[llm][anthropic][repeats][tools]") {
  const auto start = [](const std::string& block) {
    return data(R"({"type":"content_block_start","index":0,"content_block":)" + block + "}");
  };
  const auto delta = [](const std::string& of) {
    return data(R"({"type":"content_block_delta","index":0,"delta":)" + of + "}");
  };
  const auto stop = [](const std::string& block) {
    return data(R"({"type":"content_block_stop","index":0,"content_block":)" + block + "}");
  };
  const auto end = [](const std::string& blocks) {
    return data(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})") +
           data(R"({"type":"message_stop","message":{"content":[)" + blocks + "]}}");
  };
  const std::string hello = R"({"type":"text","text":"Hello"})", empty = R"({"type":"text","text":""})";
  const std::string words =
      delta(R"({"type":"text_delta","text":"Hel"})") + delta(R"({"type":"text_delta","text":"lo"})");
  check(messages, start(empty) + words + stop(hello) + end(hello), "Hello");
  check(messages, start(empty) + stop(hello) + end(hello), "Hello");
  check(messages, end(hello), "Hello");
  const std::string input = delta(R"({"type":"input_json_delta","partial_json":"{\"x\":"})") +
                            delta(R"({"type":"input_json_delta","partial_json":"1}"})");
  const auto use = [](const std::string& given) {
    return R"({"type":"tool_use","id":"a","name":"look","input":)" + given + "}";
  };
  const Calls look = {{"a", "look", R"({"x":1})"}};
  check(messages, start(use("{}")) + input + stop(use(R"({"x":1})")) + end(use(R"({ "x": 1 })")), "", look);
  check(messages, start(use(R"({"x":1})")) + input + end(""), "", look);
  check(messages, start(use(R"({"x":1})")) + end(""), "", look);
}

// Each text is parsed once, and not once for each other call of that id.
TEST_CASE("many long calls with one id are compared in time proportional to their length", "[llm][repeats]") {
  std::string list;
  for (int i = 0; i < 300; ++i) list += (i == 0 ? "" : ",") + std::string(R"(\"a long text of its own\")");
  const auto allocations_for = [&](int calls) {
    std::string events;
    for (int i = 0; i < calls; ++i)
      events +=
          choice(R"("delta":{"tool_calls":[)" +
                 call_json("a", "look", R"({\"n\":)" + std::to_string(i) + R"(,\"all\":[)" + list + "]}",
                           R"("index":)" + std::to_string(i) + ",") +
                 "]}");
    events += choice(R"("delta":{},"finish_reason":"tool_calls")");
    const std::size_t before = allocations();
    const Heard heard = heard_of(chat, events, events.size());
    CHECK(heard.record.outcomes[0].tool_calls.size() == static_cast<std::size_t>(calls));
    return allocations() - before;
  };
  const std::size_t few = allocations_for(8);
  CHECK(allocations_for(64) <= 10 * few);
}
