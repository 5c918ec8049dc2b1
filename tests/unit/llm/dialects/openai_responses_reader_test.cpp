// Answers of the OpenAI Responses dialect, up to the outcome.
#include "llm/dialects/openai_responses_reader.hpp"

#include "core/utf8.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/messages.hpp"
#include "support/prop.hpp"
#include "support/wire/golden.hpp"

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using Calls = std::vector<ToolCall>;

namespace {

ChatRecord heard_of(bool stream, int status, const std::string& body) {
  CallFixture fixture(stream, 1 << 20, 1 << 20, detail::llm::openai_responses());
  return fixture.answer(status, stream && status == 200 ? all_events : json_type, body);
}
ChatRecord streamed(const std::string& events) {
  return heard_of(true, 200, events);
}
ChatRecord whole(const std::string& body, int status = 200) {
  return heard_of(false, status, body);
}
ChatRecord golden(const std::string& name) {
  const std::string text = read_golden("openai_responses/" + name);
  return name.ends_with(".sse") ? streamed(text) : whole(text);
}
Calls calls_of(const std::string& events) {
  const ChatRecord heard = streamed(events);
  REQUIRE(heard.completed());
  return heard.outcomes[0].tool_calls;
}

std::string event(const std::string& type, const std::string& members = "") {
  return R"(data: {"type":")" + type + "\"" + (members.empty() ? "" : "," + members) + "}\n\n";
}
const std::string completed =
    event("response.completed", R"("response":{"status":"completed","error":null,"usage":null})");
std::string text_delta(const std::string& text) {
  return event("response.output_text.delta", R"("output_index":0,"delta":")" + text + "\"");
}
// An item event; `item` are the item's members.
std::string call_event(const std::string& when, const std::string& index, const std::string& item) {
  return event("response.output_item." + when, (index.empty() ? "" : R"("output_index":)" + index + ",") +
                                                   R"("item":{"type":"function_call",)" + item + "}");
}
std::string arguments_event(const std::string& when, const std::string& index, const std::string& text) {
  return event("response.function_call_arguments." + when,
               (index.empty() ? "" : R"("output_index":)" + index + ",") +
                   (when == "delta" ? R"("delta":)" : R"("arguments":)") + text);
}

const std::string look_added = call_event("added", "1", R"("call_id":"a","name":"look","arguments":"")");
const std::string look_done =
    call_event("done", "1", R"("call_id":"a","name":"look","arguments":"{\"at\":1}")");
const Calls look = {{"a", "look", R"({"at":1})"}};

}  // namespace

TEST_CASE("a stream of events becomes deltas and an outcome", "[llm][responses][O2]") {
  const ChatRecord heard = golden("answer.sse");
  CHECK(heard.deltas ==
        std::vector<std::string>{"Let me", " see", " \xE2\x80\x93 caf\xC3\xA9", " \xF0\x9F\x98\x80."});
  CHECK(heard.reasoning == "The user asks for the sea.\n\nI should look, then wait.");
  REQUIRE(heard.completed());
  const ChatOutcome& outcome = heard.outcomes[0];
  CHECK(outcome.finish_reason == FinishReason::tool_calls);
  CHECK(outcome.model == "gpt-5-2025-08-07");
  CHECK(outcome.usage == Usage{328, 52, 380, 256, 30});
  CHECK(outcome.tool_calls ==
        Calls{{"call_aa", "look", R"({"at":"sea","n":1})"}, {"call_bb", "wait", R"({"seconds":2})"}});
  REQUIRE(outcome.reasoning.size() == 1);
  CHECK(outcome.reasoning[0].dialect == "openai_responses");
  CHECK(outcome.reasoning[0].data.starts_with(R"({"id":"rs_01","type":"reasoning","encrypted_content":)"));
  CHECK(nlohmann::json::parse(outcome.reasoning[0].data).at("summary").size() == 2);
}

TEST_CASE("a whole response gives the same outcome as its stream", "[llm][responses][O2]") {
  const ChatRecord events = golden("answer.sse"), body = golden("answer.json");
  REQUIRE(body.completed());
  CHECK(body.text() == events.text());
  CHECK(body.reasoning == events.reasoning);
  const ChatOutcome &a = events.outcomes.at(0), &b = body.outcomes[0];
  CHECK(b.finish_reason == a.finish_reason);
  CHECK(b.usage == a.usage);
  CHECK(b.model == a.model);
  CHECK(b.tool_calls == a.tool_calls);
  REQUIRE(b.reasoning.size() == 1);
  CHECK(nlohmann::json::parse(b.reasoning[0].data) == nlohmann::json::parse(a.reasoning.at(0).data));
}

TEST_CASE("the items of an answer are sent back unchanged", "[llm][responses][G8]") {
  const ChatRecord heard = golden("answer.sse");
  const ChatOutcome& outcome = heard.outcomes.at(0);
  ChatMessage answer = ChatMessage::assistant(heard.text());
  answer.append(outcome.tool_calls);
  test::put_reasoning(answer, outcome.reasoning);
  ChatMessage blue = ChatMessage::tool_result({}, "blue"), waited = ChatMessage::tool_result({}, "waited");
  blue.tool_call_id = outcome.tool_calls.at(0).id;
  waited.tool_call_id = outcome.tool_calls.at(1).id;
  ChatRequest request;
  request.messages = {ChatMessage::user("What is there?"), answer, blue, waited};
  CHECK(detail::llm::openai_responses().body(request, {.model = "gpt-5"}) + "\n" ==
        read_golden("openai_responses/next_request.json"));
}

TEST_CASE("a truncated answer has its reason", "[llm][responses]") {
  const ChatRecord heard = golden("incomplete.sse");
  REQUIRE(heard.completed());
  CHECK(heard.text() == "The sea is");
  CHECK(heard.outcomes[0].finish_reason == FinishReason::length);
  CHECK(heard.outcomes[0].usage == Usage{9, 16, 25});
  const auto reason = [](const std::string& details) {
    return streamed(event("response.incomplete", R"("response":{"incomplete_details":)" + details + "}"))
        .outcomes.at(0)
        .finish_reason;
  };
  CHECK(reason(R"({"reason":"content_filter"})") == FinishReason::content_filter);
  CHECK(reason(R"({"reason":"max_output_tokens"})") == FinishReason::length);
  CHECK(reason("null") == FinishReason::length);
}

TEST_CASE("a refusal is delivered as the text of the answer", "[llm][responses]") {
  const ChatRecord heard = golden("refusal.sse");
  REQUIRE(heard.completed());
  CHECK(heard.text() == "I cannot help with that.");
  CHECK(heard.outcomes[0].finish_reason == FinishReason::refusal);
  const ChatRecord body = whole(
      R"({"status":"completed","output":[{"content":[{"refusal":"No.","type":"refusal"}],"type":"message"}]})");
  CHECK(body.text() == "No.");
  CHECK(body.outcomes.at(0).finish_reason == FinishReason::refusal);
}

TEST_CASE("a response that failed is an error", "[llm][responses][X19]") {
  const ChatRecord failed = golden("failed.sse"), limited = golden("error.sse");
  CHECK(failed.failed_with(Errc::api_error));
  CHECK(failed.error().message == "The model failed to generate a response.");
  CHECK(failed.error().retryable);
  CHECK(limited.failed_with(Errc::api_error));
  CHECK(limited.error().message == "Too many requests.");
  CHECK(limited.error().retryable);
  const ChatRecord refused = whole(read_golden("openai_responses/error.json"), 400);
  CHECK(refused.failed_with(Errc::api_error));
  CHECK(refused.error().message == "HTTP 400: Invalid value: 'gpt-0'.");
}

TEST_CASE("Responses errors are read in every form", "[llm][responses][X19]") {
  const auto error = [](const std::string& data) { return streamed("data: " + data + "\n\n").error(); };
  CHECK(error(R"({"type":"error","error":{"type":"server_error","message":"no"}})").message == "no");
  CHECK(error(R"({"type":"error","error":{"type":"server_error","message":"no"}})").retryable);
  CHECK(error(R"({"message":"no","code":"server_error","type":"error"})").retryable);
  CHECK(error(R"({"type":"error","code":"x","message":null})").message == "x");
  CHECK(error(R"({"type":"error"})").message == "an error without a message");
  CHECK(error(R"({"type":"response.error","message":"no"})").message == "no");
  CHECK(error(R"({"object":"error","message":"no","type":"BadRequestError","code":503})").retryable);
  CHECK_FALSE(error(R"({"object":"error","message":"no","type":"BadRequestError","code":400})").retryable);
  CHECK(error(R"({"message":"no","code":"rate_limit_exceeded"})").retryable);
  CHECK(error(R"({"error":{"message":"no"}})").message == "no");
  CHECK(error(R"({"detail":"no"})").message == "no");
  CHECK(error(R"({"type":"response.failed","response":{"error":null}})")
            .message.starts_with("the response failed"));
  CHECK(error(R"({"type":"response.cancelled"})").message == "the provider cancelled the response");
  CHECK(whole(R"({"status":"failed","output":[],"error":{"code":"c","message":"no"}})").error().message ==
        "no");
}

TEST_CASE("unknown events are ignored", "[llm][responses]") {
  for (const char* data :
       {R"({"type":"keepalive","sequence_number":3})", R"({"type":"response.queued","message":"wait"})",
        R"({"type":"response.new.thing","error":{"message":"x"},"detail":"y","delta":"z"})",
        R"({"type":"ping","message":"x","code":"server_error"})", "{}", R"({"type":null})",
        R"({"type":"response.mcp_call.failed","output_index":1,"item_id":"i"})",
        R"({"type":"response.some.output","output":[{"type":"function_call","name":"x"},)"
        R"({"content":[{"type":"refusal","refusal":"r"}]}]})",
        R"({"type":"response.in_progress","response":{"error":null,"output":[]}})",
        R"({"type":"response.output_text.done","text":"Hi","output_index":0})",
        R"({"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":)"
        R"([{"type":"output_text","text":"Hi"}]}})"}) {
    INFO(data);
    const ChatRecord heard = streamed(text_delta("Hi") + "data: " + data + "\n\n" + completed);
    REQUIRE(heard.completed());
    CHECK(heard.text() == "Hi");
    CHECK(heard.outcomes[0].finish_reason == FinishReason::complete);
    CHECK(heard.outcomes[0].tool_calls.empty());
  }
}

TEST_CASE("repeated arguments count once", "[llm][responses][tools]") {
  const std::string pieces =
      arguments_event("delta", "1", R"("{\"at\"")") + arguments_event("delta", "1", R"(":1}")");
  const std::string all = arguments_event("done", "1", R"("{\"at\":1}")");
  CHECK(calls_of(look_added + pieces + all + look_done + completed) == look);
  CHECK(calls_of(look_added + pieces + completed) == look);
  CHECK(calls_of(look_added + pieces + all + completed) == look);
  CHECK(calls_of(look_added + all + completed) == look);
  CHECK(calls_of(look_added + look_done + completed) == look);
  CHECK(calls_of(look_done + completed) == look);
  CHECK(calls_of(pieces + all + look_done + completed) == look);
  CHECK(calls_of(call_event("added", "1", R"("call_id":"a","name":"look","arguments":"{\"at\":1}")") +
                 pieces + look_done + completed) == look);
  const std::string empty_done = call_event("done", "1", R"("call_id":"a","name":"look","arguments":"")");
  CHECK(calls_of(look_added + pieces + empty_done + completed) == look);
  CHECK(calls_of(look_added + call_event("done", "1", R"("name":"look","arguments":{"at":1})") + completed) ==
        look);
}

TEST_CASE("events of compatible servers are read", "[llm][responses][tools]") {
  const ChatRecord vllm = golden("vllm.sse");
  REQUIRE(vllm.completed());
  CHECK(vllm.reasoning == "We need to look.");
  CHECK(vllm.outcomes[0].tool_calls == Calls{{"call_first", "look", R"({"at":"sea"})"}});
  CHECK(vllm.outcomes[0].reasoning.empty());
  CHECK(vllm.outcomes[0].usage == Usage{70, 21, 91, 64, 9});
  const ChatRecord llama = golden("llama_cpp.sse");
  REQUIRE(llama.completed());
  CHECK(llama.text() == "Both.");
  CHECK(llama.outcomes[0].tool_calls == Calls{{"fc_1", "look", R"({"at":"sea"})"}, {"fc_2", "wait", "{}"}});
  CHECK(llama.outcomes[0].usage == Usage{5, 7, 12});
  const ChatRecord done =
      streamed(text_delta("x") + event("response.done", R"("response":{"status":"completed"})"));
  CHECK(done.outcomes.at(0).finish_reason == FinishReason::complete);
}

TEST_CASE("an answer that is only in the last event is read there", "[llm][responses][O2]") {
  const std::string output =
      R"("output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},)"
      R"({"type":"message","content":[{"type":"output_text","text":"hello"}]},)"
      R"({"type":"function_call","call_id":"a","name":"look","arguments":"{\"at\":1}"}])";
  const std::string created = event("response.created", R"("response":{"status":"in_progress","output":[]})");
  const std::string end = event("response.completed", R"("response":{"status":"completed",)" + output + "}");
  const auto text_of = [](const ChatRecord& heard) {
    REQUIRE(heard.completed());
    return heard.text();
  };
  CHECK(text_of(streamed(created + end)) == "hello");
  CHECK(streamed(created + end).reasoning == "hm");
  CHECK(calls_of(created + end) == look);

  // What came before is not taken again, and what did not, is.
  const ChatRecord thought =
      streamed(event("response.reasoning_summary_text.delta", R"("delta":"hm, hm")") + end);
  CHECK(thought.reasoning == "hm, hm");
  CHECK(text_of(thought) == "hello");
  const std::string words = text_delta("hel") + text_delta("lo");
  CHECK(text_of(streamed(created + words + end)) == "hello");
  CHECK(calls_of(created + words + end) == look);
  CHECK(calls_of(look_added + look_done + end) == look);
  CHECK(text_of(streamed(look_added + look_done + end)) == "hello");
}

TEST_CASE("an item without a call_id is called by its own id", "[llm][responses][tools]") {
  CHECK(calls_of(call_event("done", "0", R"("id":"fc_1","name":"look","arguments":"{}")") + completed) ==
        Calls{{"fc_1", "look", "{}"}});
}

TEST_CASE("calls may follow any number of other items", "[llm][responses][tools][limits]") {
  std::string events;
  for (const char* index : {"62", "63", "64", "1000", "18446744073709551615"})
    events += call_event("added", index, R"("call_id":"c)" + std::string(index) + R"(","name":"look")") +
              arguments_event("delta", index, R"("{)" + std::string(index) + "\"") +
              arguments_event("delta", index, "\"}\"");
  const Calls calls = calls_of(events + completed);
  REQUIRE(calls.size() == 5);
  CHECK(calls[0] == ToolCall{"c62", "look", "{62}"});
  CHECK(calls[2] == ToolCall{"c64", "look", "{64}"});
  CHECK(calls[4] == ToolCall{"c18446744073709551615", "look", "{18446744073709551615}"});
}

TEST_CASE("an answer with too many calls fails", "[llm][responses][tools][limits]") {
  std::string list, events;
  for (int i = 0; i < 65; ++i) {
    const std::string item = R"({"type":"function_call","call_id":"c)" + std::to_string(i) +
                             R"(","name":"look","arguments":"{}"})";
    list += (i == 0 ? "" : ",") + item;
    events +=
        event("response.output_item.done", R"("output_index":)" + std::to_string(i) + R"(,"item":)" + item);
    if (i != 63) continue;
    CHECK(whole(R"({"status":"completed","output":[)" + list + "]}").outcomes.at(0).tool_calls.size() == 64);
  }
  CHECK(whole(R"({"status":"completed","output":[)" + list + "]}").failed_with(Errc::invalid_response));
}

TEST_CASE("only encrypted reasoning is sent back", "[llm][responses]") {
  const auto blocks = [](const std::string& item) {
    return streamed(event("response.output_item.done", R"("output_index":70,"item":)" + item) + completed)
        .outcomes.at(0)
        .reasoning;
  };
  const std::string item = R"({"type":"reasoning", "encrypted_content":"x","summary":[{"a":"}"}] })";
  REQUIRE(blocks(item).size() == 1);
  CHECK(blocks(item)[0].data == item);
  CHECK(blocks(R"({"encrypted_content":"x","type":"reasoning"})").size() == 1);
  CHECK(blocks(R"({"type":"reasoning","encrypted_content":""})").empty());
  CHECK(blocks(R"({"type":"reasoning","encrypted_content":null,"summary":[]})").empty());
  CHECK(blocks(R"({"type":"message","encrypted_content":"x"})").empty());
  CHECK(blocks(R"({"type":"reasoning","encrypted_content":"x","n":01})").empty());  // no JSON
  const auto done = [](const char* index, const char* name) {
    return event("response.output_item.done", R"("item":{"type":"reasoning","encrypted_content":")" +
                                                  std::string(name) + R"("},"output_index":)" + index);
  };
  const auto both = streamed(done("99", "second") + done("64", "first") + completed).outcomes.at(0).reasoning;
  REQUIRE(both.size() == 2);
  CHECK(both[0].data.find("first") != std::string::npos);
}

TEST_CASE("an invalid whole body is an error", "[llm][responses][O5]") {
  for (const char* body :
       {"{}", R"({"output":null})", R"({"type":"response.created","response":{"output":[]}})", "[]", "", "{",
        R"({"output":[)"}) {
    INFO(body);
    CHECK(whole(body).failed_with(Errc::invalid_response));
  }
  const ChatRecord empty = whole(R"({"status":"completed","error":null,"output":[]})");
  CHECK(empty.completed());
  CHECK(empty.text().empty());
}

TEST_CASE("a background response is an error with its status", "[llm][responses][O6]") {
  for (const std::string status : {"queued", "in_progress"})
    for (const std::string rest :
         {R"("output":[])", R"("output":[{"type":"message"}],"error":null)", R"("background":true)"}) {
      INFO(status << rest);
      const ChatRecord heard = whole(R"({"id":"r","status":")" + status + "\"," + rest + "}");
      REQUIRE(heard.failed_with(Errc::api_error));
      CHECK(heard.error().message.find("its status is \"" + status + "\"") != std::string::npos);
      CHECK(heard.error().message.find("background") != std::string::npos);
      CHECK_FALSE(heard.error().retryable);
    }
}

TEST_CASE("an answer of unknown items alone fails and names them", "[llm][responses][O6]") {
  const auto item = [](const std::string& type) { return R"({"id":"x","type":")" + type + "\"}"; };
  for (const char* type : {"custom_tool_call", "shell_call", "image_generation_call", "mcp_approval_request",
                           "computer_call", "something_new"}) {
    INFO(type);
    const std::string members = R"("output_index":1,"item":)" + item(type);
    const std::string thought = R"("output_index":0,"item":)" + item("reasoning");
    const ChatRecord events =
        streamed(event("response.output_item.added", thought) + event("response.output_item.added", members) +
                 event("response.output_item.done", members) + completed);
    const std::string output = "[" + item("reasoning") + "," + item(type) + "]";
    const ChatRecord last =
        streamed(event("response.completed", R"("response":{"status":"completed","output":)" + output + "}"));
    const ChatRecord body = whole(R"({"status":"completed","output":)" + output + "}");
    for (const ChatRecord& heard : {events, last, body}) {
      REQUIRE(heard.failed_with(Errc::invalid_response));
      CHECK(heard.error().message.find(std::string("only: ") + type + ".") != std::string::npos);
      CHECK_FALSE(heard.error().retryable);
    }
  }
}

TEST_CASE("an answer with text or calls beside unknown items succeeds", "[llm][responses][O2]") {
  const std::string search = R"({"id":"x","type":"web_search_call"})";
  const std::string members = R"("output_index":0,"item":)" + search;
  CHECK(streamed(event("response.output_item.added", members) + text_delta("x") + completed).text() == "x");
  CHECK(calls_of(event("response.output_item.added", members) + look_added + look_done + completed) == look);
  const ChatRecord cut = whole(R"({"status":"incomplete","output":[)" + search + "]}");
  REQUIRE(cut.completed());
  CHECK(cut.outcomes[0].finish_reason == FinishReason::length);
}

TEST_CASE("texts of two items are separated and those of one item are not", "[llm][responses][O2]") {
  const auto message = [](const std::string& parts) {
    return R"({"type":"message","content":[)" + parts + "]}";
  };
  const auto part = [](const std::string& text) {
    return R"({"type":"output_text","text":")" + text + "\"}";
  };
  const std::string output = "[" + message(part("On") + "," + part("e.")) +
                             R"(,{"type":"web_search_call"},)" + message(part("Two.")) + "," +
                             message(part("Three.")) + "]";
  CHECK(whole(R"({"status":"completed","output":)" + output + "}").text() == "One.\n\nTwo.\n\nThree.");
  const auto added = [](const std::string& type) {
    return event("response.output_item.added", R"("item":{"type":")" + type + "\"}");
  };
  const ChatRecord events = streamed(
      added("message") + text_delta("On") + text_delta("e.") + added("web_search_call") + added("message") +
      text_delta("Two") + text_delta(".") + added("message") + text_delta("Three.") +
      event("response.completed", R"("response":{"status":"completed","output":)" + output + "}"));
  REQUIRE(events.completed());
  CHECK(events.deltas == std::vector<std::string>{"On", "e.", "\n\nTwo", ".", "\n\nThree."});
}

TEST_CASE("a stream that begins another response is broken", "[llm][responses][O5]") {
  const auto created = [](const std::string& id) {
    return event("response.created", R"("response":{"id":")" + id + R"(","status":"in_progress"})");
  };
  CHECK(streamed(created("a") + text_delta("x") + created("a") + completed).completed());
  const ChatRecord mixed =
      streamed(created("a") + text_delta("x") + created("b") + text_delta("y") + completed);
  CHECK(mixed.failed_with(Errc::invalid_response));
  CHECK(mixed.text() == "x");
}

TEST_CASE("unexpected members are ignored", "[llm][responses][G15]") {
  for (const char* output : {"[]", "[null]", "[7]", "[[]]", "[{}]", R"([{"type":7,"content":[null,7,{}]}])",
                             R"([{"type":"message","content":"x"}])", R"([{"type":"message","content":{}}])",
                             R"([{"type":"function_call","arguments":null,"name":null,"call_id":7}])"}) {
    INFO(output);
    const ChatRecord heard = whole(R"({"status":"completed","output":)" + std::string(output) + "}");
    if (!heard.failed_with(Errc::invalid_response)) CHECK(heard.completed());
    CHECK(heard.text().empty());
  }
  const ChatRecord odd =
      streamed(event("response.output_text.delta", R"("delta":{"a":1},"output_index":"x","item":7)") +
               event("response.output_text.delta", R"("delta":null,"response":[],"output_index":-1)") +
               event("response.completed", R"("response":{"usage":7,"incomplete_details":7,"error":{}})"));
  CHECK(odd.completed());
  CHECK(streamed(text_delta("a\\ud83dz") + completed).text() == "a\xEF\xBF\xBDz");
  CHECK(streamed(text_delta("a\xFFz") + completed).text() == "a\xEF\xBF\xBDz");
  CHECK(streamed("data: " + std::string(100000, '[') + "\n\n").failed_with(Errc::invalid_response));
  CHECK(streamed(text_delta(std::string(300000, 'x')) + completed).text().size() == 300000);
  CHECK(whole(R"({"output":[{"a":)" + std::string(1000, '[') + std::string(1000, ']') + "}]}")
            .failed_with(Errc::invalid_response));
}

TEST_CASE("invalid encrypted reasoning is an error", "[llm][responses][G15]") {
  const std::string item =
      R"({"type":"reasoning","encrypted_content":"x","summary":[{"type" "summary_text"}]})";
  CHECK(streamed(R"(data: {"output":[)" + item + "]}\n\n").failed_with(Errc::invalid_response));
  CHECK(whole(R"({"output":[)" + item + "]}").failed_with(Errc::invalid_response));
  CHECK(streamed(R"(data: {"type":"response.output_item.done","item":)" + item + "}\n\n" + completed)
            .outcomes.at(0)
            .reasoning.empty());
}

TEST_CASE("a truncated Responses body is an error", "[llm][responses][G10]") {
  const ChatRecord cut = streamed(text_delta("x"));
  CHECK(cut.failed_with(Errc::network_error));
  CHECK(cut.error().retryable);
  CHECK(streamed(look_added + look_done).outcomes.at(0).tool_calls.empty());
}
