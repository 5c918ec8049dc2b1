// Answers from their bytes to deltas and an outcome, without a transport, a loop or a sink.
#include "llm/http/answer_builder.hpp"

#include "support/catch.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using detail::llm::AnswerBuilder;

namespace {

using Words = std::vector<std::string>;

const std::string stream_type = "text/event-stream", json_type = "application/json";

std::string text_chunk(std::string_view text) {
  return R"(data: {"choices":[{"delta":{"content":")" + std::string(text) + "\"}}]}\n\n";
}
const std::string finish_chunk = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const std::string usage_chunk =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}\n\n";
const std::string done_chunk = "data: [DONE]\n\n";

struct Fixture : detail::llm::AnswerListener {
  bool on_text(std::string_view text) override {
    texts.emplace_back(text);
    return texts.size() < wanted;
  }
  bool on_reasoning_text(std::string_view text) override {
    reasoning += text;
    return true;
  }

  void begin(std::string_view type, int status = 200) {
    answer.begin({.status = status, .content_type = std::string(type)}, {});
  }

  static ChatRequest request() {
    ChatRequest made;
    made.stream = true;
    made.messages = {ChatMessage::user("0123456789")};
    return made;
  }

  Words texts;
  std::string reasoning;
  std::size_t wanted = 1000;  // texts, after which the call is over
  detail::llm::AnswerContext context{detail::llm::openai_chat(), detail::llm::Redactor(), 1 << 16, 1 << 20,
                                     ""};
  AnswerBuilder answer{context, request(), *this};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "an answer is built from a stream that is cut anywhere", "[llm]") {
  begin(stream_type);
  for (const char byte : text_chunk("Hel") + text_chunk("lo") + finish_chunk + usage_chunk)
    CHECK(answer.feed({&byte, 1}));
  CHECK_FALSE(answer.is_complete());
  CHECK(answer.feed(done_chunk));
  CHECK(answer.is_complete());
  CHECK(answer.feed(text_chunk("ignored")));
  const ChatOutcome outcome = answer.finish({});
  CHECK(texts == Words{"Hel", "lo"});
  CHECK(outcome.kind == ChatOutcome::Kind::completed);
  CHECK(outcome.finish_reason == FinishReason::complete);
  CHECK(outcome.usage == Usage{1, 2, 3});
}

TEST_CASE_METHOD(Fixture, "an answer is built from a whole body at its end", "[llm]") {
  begin(json_type);
  CHECK(answer.feed(R"({"model":"m","choices":[{"message":{"reasoning":"hm","content":"Hi"},)"));
  CHECK(answer.feed(R"("finish_reason":"length"}]})"));
  CHECK(texts.empty());
  const ChatOutcome outcome = answer.finish({});
  CHECK(texts == Words{"Hi"});
  CHECK(reasoning == "hm");
  CHECK(outcome.finish_reason == FinishReason::length);
  CHECK(outcome.model == "m");
}

TEST_CASE_METHOD(Fixture, "a listener for which the call is over gets nothing more", "[llm][G7]") {
  wanted = 1;
  begin(stream_type);
  CHECK_FALSE(answer.feed(text_chunk("x") + text_chunk("y") + finish_chunk));
  CHECK(texts == Words{"x"});
  const ChatOutcome outcome = answer.cancelled({Errc::cancelled, "", 0});
  CHECK(outcome.kind == ChatOutcome::Kind::cancelled);
  CHECK(outcome.usage.completion_tokens == 1);
  CHECK_FALSE(outcome.usage.complete);
}

TEST_CASE_METHOD(Fixture, "a faulty stream is fed no further, and its end is the fault", "[llm][G15]") {
  begin(stream_type);
  SECTION("a chunk that is no JSON") {
    CHECK_FALSE(answer.feed(text_chunk("x") + "data: <oops>\n\n"));
    CHECK(answer.finish({Errc::invalid_response, "", 0}).error.code == Errc::invalid_response);
  }
  SECTION("a line that is too long") {
    CHECK_FALSE(answer.feed(text_chunk("x") + text_chunk(std::string(1 << 17, 'y'))));
    CHECK(answer.finish({Errc::invalid_response, "", 0}).error.code == Errc::response_too_large);
  }
  SECTION("an error object") {
    CHECK_FALSE(answer.feed(text_chunk("x") + "data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n"));
    const ChatError error = answer.finish({Errc::invalid_response, "", 0}).error;
    CHECK(error.code == Errc::api_error);
    CHECK(error.retryable);
  }
  CHECK(texts == Words{"x"});
}

TEST_CASE_METHOD(Fixture, "a stream that ends before its answer is cut short", "[llm][G10]") {
  begin(stream_type);
  CHECK(answer.feed(text_chunk("x")));
  const ChatOutcome outcome = answer.finish({});
  CHECK(outcome.kind == ChatOutcome::Kind::failed);
  CHECK(outcome.error.code == Errc::network_error);
  CHECK(outcome.error.retryable);
}

TEST_CASE_METHOD(Fixture, "an HTTP error carries its status, and its text reaches no listener",
                 "[llm][X19]") {
  begin(json_type, 503);
  CHECK(answer.feed(R"({"error":{"message":"down"}})"));
  const ChatError error = answer.finish({}).error;
  CHECK(error.code == Errc::api_error);
  CHECK(error.http_status == 503);
  CHECK(error.retryable);
  CHECK(texts.empty());
}

TEST_CASE_METHOD(Fixture, "a call that was never sent used nothing", "[llm][usage]") {
  const ChatOutcome outcome = answer.finish({Errc::connect_timeout, "x", 0, false});
  CHECK(outcome.error.code == Errc::connect_timeout);
  CHECK(outcome.usage == Usage{});
}

TEST_CASE_METHOD(Fixture, "an answer that waits for more of its text takes less than a kilobyte", "[llm]") {
  STATIC_REQUIRE(sizeof(AnswerBuilder) < 900);  // bytes; the rest is for the buffers of a chunk
  begin(stream_type);
  CHECK(answer.feed(text_chunk("x") + text_chunk("y")));
}

TEST_CASE_METHOD(Fixture, "a large object leaves no large reader", "[llm]") {
  const detail::llm::AnswerReader* const before = context.reader.get();
  begin(json_type);
  answer.feed(R"({"choices":[{"message":{"content":")");
  answer.feed(std::string(1 << 19, 'x'));
  answer.feed(R"("},"finish_reason":"stop"}]})");
  CHECK(answer.finish({}).kind == ChatOutcome::Kind::completed);
  CHECK(context.reader.get() == before);
  answer.release_memory();
  CHECK(context.reader.get() != before);
}
