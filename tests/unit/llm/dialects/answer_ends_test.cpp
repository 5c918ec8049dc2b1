// How answers end, in all dialects and forms: what is an answer, what is a failure, and what is marked.
#include "llm/dialects/wire_format.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

#include <string>
#include <string_view>

using namespace agentcore;
using namespace agentcore::test;
using detail::llm::WireFormat;

namespace {

// One dialect and form: an answer with that text (perhaps empty) that ends with that word.
struct Form {
  const char* name;
  const WireFormat& format;
  bool stream;
  std::string (*body)(const std::string& text, const std::string& word);
};

std::string chat_stream(const std::string& text, const std::string& word) {
  return (text.empty() ? "" : piece(text)) + R"(data: {"choices":[{"delta":{},"finish_reason":")" + word +
         "\"}]}\n\n" + done_chunk;
}
std::string chat_body(const std::string& text, const std::string& word) {
  return R"({"choices":[{"message":{"content":")" + text + R"("},"finish_reason":")" + word + "\"}]}";
}
std::string anthropic_stream(const std::string& text, const std::string& word) {
  const std::string delta =
      R"(data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})"
      "\n\n"
      R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":")" +
      text + "\"}}\n\n";
  return R"(data: {"type":"message_start","message":{"id":"m","content":[],"model":"c"}})"
         "\n\n" +
         (text.empty() ? "" : delta) + R"(data: {"type":"message_delta","delta":{"stop_reason":")" + word +
         "\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
}
std::string anthropic_body(const std::string& text, const std::string& word) {
  const std::string block = R"({"type":"text","text":")" + text + "\"}";
  return R"({"type":"message","content":[)" + (text.empty() ? "" : block) + R"(],"stop_reason":")" + word +
         "\"}";
}
std::string responses_output(const std::string& text, const std::string& word) {
  const std::string item = R"({"type":"message","content":[{"type":"output_text","text":")" + text + "\"}]}";
  return R"({"id":"r","status":"incomplete","incomplete_details":{"reason":")" + word + R"("},"output":[)" +
         (text.empty() ? "" : item) + "]}";
}
std::string responses_stream(const std::string& text, const std::string& word) {
  return R"(data: {"type":"response.incomplete","response":)" + responses_output(text, word) + "}\n\n";
}

const Form forms[] = {
    {"chat, stream", detail::llm::openai_chat(), true, chat_stream},
    {"chat, whole", detail::llm::openai_chat(), false, chat_body},
    {"Anthropic, stream", detail::llm::anthropic_messages(), true, anthropic_stream},
    {"Anthropic, whole", detail::llm::anthropic_messages(), false, anthropic_body},
    {"Responses, stream", detail::llm::openai_responses(), true, responses_stream},
    {"Responses, whole", detail::llm::openai_responses(), false, responses_output},
};

// In one piece, or byte by byte.
ChatRecord answered(const Form& form, const std::string& body, bool in_pieces) {
  CallFixture fixture(form.stream, 1 << 20, 1 << 20, form.format);
  const std::string type = form.stream ? all_events : json_type;
  if (!in_pieces) return fixture.answer(200, type, body);
  fixture.call->on_head({.status = 200, .content_type = type});
  for (const char byte : body) fixture.call->on_body(std::string_view(&byte, 1));
  return fixture.end();
}

}  // namespace

TEST_CASE("an end that is a failure fails the call in each dialect", "[llm][dialects][ends]") {
  for (const Form& form : forms)
    for (const char* word :
         {"error", "ERROR", "network_error", "abort", "Abort", "cancelled", "malformed_function_call",
          "MALFORMED_FUNCTION_CALL", "function_call_filter: MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE",
          "TOO_MANY_TOOL_CALLS", "insufficient_system_resource"})
      for (const bool has_text : {true, false}) {
        CAPTURE(form.name, word, has_text);
        const ChatRecord heard = answered(form, form.body(has_text ? "Hi" : "", word), has_text);
        REQUIRE(heard.failed_with(Errc::api_error));
        CHECK(heard.error().retryable);
        CHECK_FALSE(heard.error().model_specific);
        CHECK(heard.error().message.find(word) != std::string::npos);
      }
}

TEST_CASE("a full context fails the call for this model alone", "[llm][dialects][ends]") {
  for (const Form& form : forms) {
    CAPTURE(form.name);
    const ChatRecord heard = answered(form, form.body("Hi", "model_context_window_exceeded"), false);
    REQUIRE(heard.failed_with(Errc::api_error));
    CHECK_FALSE(heard.error().retryable);
    CHECK(heard.error().model_specific);
    CHECK(heard.error().message.find("ContextOptions::max_tokens") != std::string::npos);
  }
}

TEST_CASE("a filter is told in each dialect", "[llm][dialects][ends]") {
  for (const Form& form : forms)
    for (const char* word : {"content_filter", "sensitive", "SAFETY", "guardrail_intervened",
                             "content_filter: RECITATION", "content_filter:something new"}) {
      CAPTURE(form.name, word);
      const ChatRecord heard = answered(form, form.body("Hi", word), false);
      REQUIRE(heard.completed());
      CHECK(heard.outcomes[0].finish_reason == FinishReason::content_filter);
    }
}

TEST_CASE("an unknown end with a text is marked and without one is a failure", "[llm][dialects][ends]") {
  for (const Form& form : forms)
    for (const bool in_pieces : {false, true}) {
      CAPTURE(form.name, in_pieces);
      const ChatRecord text = answered(form, form.body("Hi", "something new"), in_pieces);
      REQUIRE(text.completed());
      CHECK(text.text() == "Hi");
      CHECK(text.outcomes[0].finish_reason == FinishReason::other);
      const ChatRecord empty = answered(form, form.body("", "something new"), in_pieces);
      REQUIRE(empty.failed_with(Errc::invalid_response));
      CHECK(empty.error().retryable);
    }
}
