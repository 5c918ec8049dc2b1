// The order of the parts of an answer, in all dialects: a stream and a whole body tell the same.
#include "core/message_items.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using detail::llm::WireFormat;
using Order = std::vector<AnswerPart>;

namespace {

const WireFormat& chat = detail::llm::openai_chat();
const WireFormat& messages = detail::llm::anthropic_messages();
const WireFormat& responses = detail::llm::openai_responses();

ChatRecord streamed(const WireFormat& format, std::string_view events, std::size_t bytes) {
  CallFixture fixture(true, 1 << 20, 1 << 20, format);
  fixture.call->on_head({.status = 200, .content_type = all_events});
  for (; !events.empty(); events.remove_prefix(std::min(bytes, events.size())))
    if (!fixture.call->on_body(events.substr(0, bytes))) break;
  return fixture.end();
}
ChatRecord whole(const WireFormat& format, std::string_view body) {
  CallFixture fixture(false, 1 << 20, 1 << 20, format);
  return fixture.answer(200, json_type, body);
}

AnswerPart text(std::size_t offset, std::size_t bytes, std::string id = {}, std::string phase = {}) {
  return {.offset = offset, .bytes = bytes, .id = std::move(id), .phase = std::move(phase)};
}
AnswerPart refusal(std::size_t offset, std::size_t bytes, std::string id = {}) {
  return {.offset = offset, .bytes = bytes, .refusal = true, .id = std::move(id)};
}
AnswerPart reasoning(std::string id = {}) {
  return {.kind = AnswerPart::Kind::reasoning, .id = std::move(id)};
}
AnswerPart call(std::string id = {}) {
  return {.kind = AnswerPart::Kind::tool_call, .id = std::move(id)};
}

// "r t0+2 c", for the messages of failed checks.
std::string shown(const Order& order) {
  std::string text;
  for (const AnswerPart& part : order) {
    text += part.kind == AnswerPart::Kind::reasoning   ? " r"
            : part.kind == AnswerPart::Kind::tool_call ? " c"
                                                       : " t";
    if (part.kind == AnswerPart::Kind::text)
      text += std::to_string(part.offset) + "+" + std::to_string(part.bytes) + (part.refusal ? "!" : "");
    text += part.id + (part.phase.empty() ? "" : "/" + part.phase);
  }
  return text;
}

// Each part of the order is an item of the message, as it was.
void check_items(const ChatRecord& heard) {
  const ChatOutcome& outcome = heard.outcomes[0];
  ChatMessage message;
  message.items = detail::core::items_of(heard.text(), outcome.reasoning, outcome.tool_calls, outcome.order);
  CHECK(message.content() == heard.text());
  if (outcome.order.empty()) return;
  REQUIRE(message.items.size() == outcome.order.size());
  for (std::size_t i = 0; i < message.items.size(); ++i) {
    const AnswerPart& part = outcome.order[i];
    CHECK(std::holds_alternative<ReasoningBlock>(message.items[i]) ==
          (part.kind == AnswerPart::Kind::reasoning));
    CHECK(std::holds_alternative<ToolCall>(message.items[i]) == (part.kind == AnswerPart::Kind::tool_call));
    if (part.kind == AnswerPart::Kind::text)
      CHECK(std::get<TextItem>(message.items[i]) ==
            TextItem{heard.text().substr(part.offset, part.bytes), part.refusal, part.id, part.phase});
  }
}

// The stream in pieces of 1 and 7 bytes and whole, and the body, have the same text and order.
void check(const WireFormat& format, const std::string& events, const std::string& body,
           std::string_view words, const Order& order) {
  std::vector<ChatRecord> records;
  for (const std::size_t bytes : {events.size(), std::size_t{7}, std::size_t{1}})
    records.push_back(streamed(format, events, bytes));
  records.push_back(whole(format, body));
  for (const ChatRecord& heard : records) {
    REQUIRE(heard.completed());
    CHECK(heard.text() == words);
    CHECK(shown(heard.outcomes[0].order) == shown(order));
    check_items(heard);
    std::size_t blocks = 0, calls = 0;
    for (const AnswerPart& part : heard.outcomes[0].order) {
      blocks += part.kind == AnswerPart::Kind::reasoning ? 1 : 0;
      calls += part.kind == AnswerPart::Kind::tool_call ? 1 : 0;
    }
    if (!order.empty()) CHECK(blocks == heard.outcomes[0].reasoning.size());
    if (!order.empty()) CHECK(calls == heard.outcomes[0].tool_calls.size());
  }
}

std::string data(const std::string& json) {
  return "data: " + json + "\n\n";
}

// Anthropic
std::string block(int index, const std::string& begin, const std::string& delta = "") {
  const std::string at = R"("index":)" + std::to_string(index);
  return data(R"({"type":"content_block_start",)" + at + R"(,"content_block":)" + begin + "}") +
         (delta.empty() ? ""
                        : data(R"({"type":"content_block_delta",)" + at + R"(,"delta":)" + delta + "}")) +
         data(R"({"type":"content_block_stop",)" + at + "}");
}
std::string thought_block(int index, const std::string& words) {
  return block(index, R"({"type":"thinking","thinking":")" + words + R"(","signature":"s)" + words + "\"}");
}
std::string text_block(int index, const std::string& words) {
  return block(index, R"({"type":"text","text":""})", R"({"type":"text_delta","text":")" + words + "\"}");
}
std::string call_block(int index, const std::string& id) {
  return block(index, R"({"type":"tool_use","id":")" + id + R"(","name":"look","input":{}})",
               R"({"type":"input_json_delta","partial_json":"{\"a\":1}"})");
}
const std::string messages_end = data(R"({"type":"message_delta","delta":{"stop_reason":"tool_use"}})") +
                                 data(R"({"type":"message_stop"})");
std::string messages_body(const std::string& blocks) {
  return R"({"type":"message","content":[)" + blocks + R"(],"stop_reason":"tool_use"})";
}

// Responses
std::string item_event(const std::string& when, int index, const std::string& item) {
  return data(R"({"type":"response.output_item.)" + when + R"(","output_index":)" + std::to_string(index) +
              R"(,"item":)" + item + "}");
}
std::string text_event(int index, const std::string& id, const std::string& kind, const std::string& words) {
  return data(R"({"type":"response.)" + kind + R"(.delta","output_index":)" + std::to_string(index) +
              R"(,"item_id":")" + id + R"(","content_index":0,"delta":")" + words + "\"}");
}
std::string thought_item(const std::string& id) {
  return R"({"type":"reasoning","id":")" + id + R"(","summary":[],"encrypted_content":"e"})";
}
std::string message_item(const std::string& id, const std::string& phase, const std::string& words) {
  return R"({"type":"message","id":")" + id + R"(","phase":")" + phase +
         R"(","content":[{"type":"output_text","text":")" + words + "\"}]}";
}
std::string call_item(const std::string& id) {
  return R"({"type":"function_call","id":")" + id + R"(","call_id":"c)" + id +
         R"(","name":"look","arguments":"{}"})";
}
std::string response_of(const std::string& items) {
  return R"({"status":"completed","output":[)" + items + "]}";
}
std::string response_end(const std::string& items = "") {
  return data(R"({"type":"response.completed","response":)" + response_of(items) + "}");
}

}  // namespace

TEST_CASE("the blocks of an Anthropic answer have an order", "[llm][anthropic][G8]") {
  const std::string thought = R"({"type":"thinking","thinking":"A","signature":"sA"})";
  const std::string hidden = R"({"type":"redacted_thinking","data":"x"})";
  const auto words = [](const std::string& of) { return R"({"type":"text","text":")" + of + "\"}"; };
  const auto tool = [](const std::string& id) {
    return R"({"type":"tool_use","id":")" + id + R"(","name":"look","input":{"a":1}})";
  };
  check(messages,
        thought_block(0, "A") + text_block(1, "Hi") + call_block(2, "t1") + block(3, hidden) +
            call_block(4, "t2") + messages_end,
        messages_body(thought + "," + words("Hi") + "," + tool("t1") + "," + hidden + "," + tool("t2")), "Hi",
        {reasoning(), text(0, 2), call(), reasoning(), call()});
  check(messages, text_block(0, "One") + call_block(1, "t") + text_block(2, "Two") + messages_end,
        messages_body(words("One") + "," + tool("t") + "," + words("Two")), "One\n\nTwo",
        {text(0, 3), call(), text(5, 3)});
  check(messages, text_block(0, "On") + text_block(1, "e") + messages_end,
        messages_body(words("On") + "," + words("e")), "One", {text(0, 3)});
  check(messages, call_block(0, "t") + messages_end, messages_body(tool("t")), "", {call()});
}

TEST_CASE("blocks that all have the index 0 keep their order", "[llm][anthropic][G8]") {
  const ChatRecord heard = streamed(
      messages,
      thought_block(0, "A") + text_block(0, "Hi") + call_block(0, "t1") + call_block(0, "t2") + messages_end,
      7);
  REQUIRE(heard.completed());
  CHECK(heard.outcomes[0].tool_calls.size() == 2);
  CHECK(shown(heard.outcomes[0].order) == shown({reasoning(), text(0, 2), call(), call()}));
}

TEST_CASE("the items of a response have an order, ids and phases", "[llm][responses][G8]") {
  const auto message = [](int index, const std::string& id, const std::string& phase,
                          const std::string& words) {
    return item_event("added", index,
                      R"({"type":"message","id":")" + id + R"(","phase":")" + phase + R"(","content":[]})") +
           text_event(index, id, "output_text", words.substr(0, 1)) +
           text_event(index, id, "output_text", words.substr(1)) +
           item_event("done", index, message_item(id, phase, words));
  };
  const auto item = [](int index, const std::string& all) {
    return item_event("added", index, all) + item_event("done", index, all);
  };
  const std::string all = thought_item("rs_1") + "," + message_item("msg_1", "commentary", "First") + "," +
                          call_item("fc_1") + "," + thought_item("rs_2") + "," +
                          message_item("msg_2", "final_answer", "Then") + "," + call_item("fc_2");
  const Order order = {reasoning("rs_1"), text(0, 5, "msg_1", "commentary"),   call("fc_1"),
                       reasoning("rs_2"), text(7, 4, "msg_2", "final_answer"), call("fc_2")};
  const std::string events = item(0, thought_item("rs_1")) + message(1, "msg_1", "commentary", "First") +
                             item(2, call_item("fc_1")) + item(3, thought_item("rs_2")) +
                             message(4, "msg_2", "final_answer", "Then") + item(5, call_item("fc_2"));
  check(responses, events + response_end(all), response_of(all), "First\n\nThen", order);
  check(responses, events + response_end(), response_of(all), "First\n\nThen", order);
  check(responses, response_end(all), response_of(all), "First\n\nThen", order);
}

TEST_CASE("two messages without events of their own are two texts", "[llm][responses][G8]") {
  const std::string all = message_item("a", "", "One") + "," + message_item("b", "", "Two");
  check(responses,
        text_event(0, "a", "output_text", "One") + text_event(1, "b", "output_text", "Two") + response_end(),
        response_of(all), "One\n\nTwo", {text(0, 3, "a"), text(5, 3, "b")});
}

TEST_CASE("a refusal is a text of its own", "[llm][responses][openai][G8]") {
  check(responses,
        text_event(0, "a", "output_text", "Well. ") + text_event(0, "a", "refusal", "No.") + response_end(),
        response_of(R"({"type":"message","id":"a","content":[{"type":"output_text","text":"Well. "},)"
                    R"({"type":"refusal","refusal":"No."}]})"),
        "Well. \n\nNo.", {text(0, 6, "a"), refusal(8, 3, "a")});
  const std::string both = R"({"type":"message","id":"a","content":[{"type":"refusal","refusal":"No."},)"
                           R"({"type":"output_text","text":"But"}]})";
  check(responses,
        item_event("added", 0, R"({"type":"message","id":"a","content":[]})") +
            text_event(0, "a", "refusal", "N") + text_event(0, "a", "refusal", "o.") +
            text_event(0, "a", "output_text", "But") + item_event("done", 0, both) +
            item_event("done", 1, call_item("f")) + response_end(both + "," + call_item("f")),
        response_of(both + "," + call_item("f")), "No.\n\nBut",
        {refusal(0, 3, "a"), text(5, 3, "a"), call("f")});
  check(chat, piece("Well.") + data(R"({"choices":[{"delta":{"refusal":"No."}}]})") + finish_chunk,
        R"({"choices":[{"message":{"content":"Well.","refusal":"No."},"finish_reason":"stop"}]})",
        "Well.\n\nNo.", {text(0, 5), refusal(7, 3)});
  check(chat,
        data(R"({"choices":[{"delta":{"refusal":"N"}}]})") +
            data(R"({"choices":[{"delta":{"refusal":"o."}}]})") + finish_chunk,
        R"({"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]})", "No.",
        {refusal(0, 3)});
}

TEST_CASE("a message with a refusal goes back as it came, also from a stored history",
          "[llm][responses][G8]") {
  const std::string item =
      R"({"type":"message","id":"a","phase":"final_answer","content":[{"type":"output_text","text":"Well. "},)"
      R"({"type":"refusal","refusal":"No."}]})";
  const ChatRecord heard = whole(responses, response_of(thought_item("r") + "," + item));
  REQUIRE(heard.completed());
  const ChatOutcome& outcome = heard.outcomes[0];
  const ChatMessage answer = ChatMessage::assistant(
      detail::core::items_of(heard.text(), outcome.reasoning, outcome.tool_calls, outcome.order));
  const auto history = history_from_json(history_to_json({ChatMessage::user("?"), answer}));
  REQUIRE(history);
  CHECK(history->at(1) == answer);
  ChatRequest request;
  request.model = "m";
  request.messages = *history;
  nlohmann::json sent = nlohmann::json::parse(responses.body(request, {})).at("input").at(2);
  nlohmann::json wanted = nlohmann::json::parse(item);
  wanted.erase("id");
  wanted["role"] = "assistant";
  CHECK(sent == wanted);
}

TEST_CASE("a chat answer tells its order only if it is another one", "[llm][openai][G8]") {
  const std::string thought = data(R"({"choices":[{"delta":{"reasoning_content":"Hm"}}]})");
  const std::string look = data(
      R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}]}}]})");
  check(chat, thought + piece("Hi") + look + finish_chunk,
        R"({"choices":[{"message":{"reasoning_content":"Hm","content":"Hi","tool_calls":[{"id":"a",)"
        R"("function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]})",
        "Hi", {});
  const ChatRecord heard = streamed(chat, piece("One") + look + thought + piece("Two") + finish_chunk, 7);
  REQUIRE(heard.completed());
  CHECK(heard.text() == "OneTwo");
  CHECK(heard.outcomes[0].order.empty());
  const ChatRecord turned = streamed(chat, look + piece("One") + piece("Two") + finish_chunk, 7);
  REQUIRE(turned.completed());
  CHECK(shown(turned.outcomes[0].order) == shown({call(), text(0, 6)}));
  check_items(turned);
}

TEST_CASE("pieces of a text whose item is told late are one text", "[llm][responses][G8]") {
  const auto delta = [](const std::string& at, const std::string& words) {
    return data(R"({"type":"response.output_text.delta",)" + at + R"("delta":")" + words + "\"}");
  };
  const ChatRecord heard = streamed(responses,
                                    delta("", "On") + delta(R"("output_index":0,"item_id":"a",)", "e") +
                                        delta(R"("output_index":1,"item_id":"b",)", "Two") + response_end(),
                                    7);
  REQUIRE(heard.completed());
  CHECK(heard.text() == "One\n\nTwo");
  CHECK(shown(heard.outcomes[0].order) == shown({text(0, 3, "a"), text(5, 3, "b")}));
  check_items(heard);
}

TEST_CASE("an answer of one text alone has one part", "[llm][anthropic][G8]") {
  check(messages, text_block(0, "Hi") + messages_end, messages_body(R"({"type":"text","text":"Hi"})"), "Hi",
        {text(0, 2)});
}
