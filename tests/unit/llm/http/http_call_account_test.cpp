// What a call says about its usage, its limits and whether it is worth another try, on every ending.
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

struct Account : CallFixture {
  // Records rate limits, too.
  class Receiver final : public ChatSink::Receiver {
   public:
    explicit Receiver(Account& test) : test_(test) {}
    void on_delta(std::string_view text) override { test_.heard.deltas.emplace_back(text); }
    void on_reasoning(std::string_view text) override { test_.thoughts += text; }
    void on_rate_limit(const RateLimit& told) override { test_.limit = told; }
    void on_outcome(ChatOutcome outcome) override { test_.heard.outcomes.push_back(std::move(outcome)); }

   private:
    Account& test_;
  };

  Account() {
    ChatRequest request;
    request.messages = {ChatMessage::user("0123456789")};
    end();
    heard = {};
    call = std::make_unique<HttpCall>(shared, parts("b"), request, stop.get_token(),
                                      ChatSink(std::make_unique<Receiver>(*this)));
  }
  const ChatOutcome& outcome() const { return heard.outcomes.at(0); }
  const ChatError& failure(int status, std::string_view body,
                           std::vector<std::pair<std::string, std::string>> fields = {}) {
    call->on_head({.status = status, .content_type = json_type, .fields = std::move(fields)});
    call->on_body(body);
    end();
    return outcome().error;
  }

  std::string thoughts;
  std::optional<RateLimit> limit;
};

}  // namespace

TEST_CASE_METHOD(Account, "an answered call has the usage of the provider", "[llm][O2]") {
  call->on_head({.status = 200, .content_type = all_events});
  call->on_body(piece("x") +
                R"(data: {"model":"m-2026","choices":[],"usage":{"prompt_tokens":7,)"
                R"("completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},)"
                R"("completion_tokens_details":{"reasoning_tokens":3},"cost":0.5}})"
                "\n\n" +
                finish_chunk + done_chunk);
  end();
  CHECK(outcome().usage == Usage{7, 5, 12, 4, 3, true});
  CHECK(outcome().model == "m-2026");
  CHECK(outcome().cost == 0.5);
}

TEST_CASE_METHOD(Account, "a call stopped during its answer estimates missing usage", "[llm][A19]") {
  call->on_head({.status = 200, .content_type = all_events});
  call->on_body(piece("caf\u00e9!"));
  stop.request_stop();
  end(Errc::cancelled);
  CHECK(outcome().usage == Usage{8, 2, 10, 0, 0, false});
}

TEST_CASE_METHOD(Account, "a call whose connection was cut estimates missing usage", "[llm][O5]") {
  call->on_head({.status = 200, .content_type = all_events});
  call->on_body(piece("01234"));
  end(Errc::network_error);
  CHECK(outcome().usage == Usage{8, 2, 10, 0, 0, false});
}

TEST_CASE_METHOD(Account, "usage that was reported before the stop counts", "[llm][A19]") {
  call->on_head({.status = 200, .content_type = all_events});
  call->on_body(usage_chunk + piece("x"));
  stop.request_stop();
  end(Errc::cancelled);
  CHECK(outcome().usage == Usage{1, 2, 3, 0, 0, false});
}

TEST_CASE_METHOD(Account, "a call that timed out in silence estimates its prompt", "[llm][A19]") {
  end(Errc::first_byte_timeout);
  CHECK(outcome().usage == Usage{8, 0, 8, 0, 0, false});
}

TEST_CASE_METHOD(Account, "a call whose connection broke in silence has unknown usage", "[llm][A19]") {
  end(Errc::network_error);
  CHECK(outcome().usage == Usage{0, 0, 0, 0, 0, false});
}

TEST_CASE_METHOD(Account, "reasoning tokens that only the total includes are charged", "[llm][O2]") {
  answer(200, all_events,
         piece("x") +
             R"(data: {"choices":[],"usage":{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,)"
             R"("completion_tokens_details":{"reasoning_tokens":94}}})"
             "\n\n" +
             finish_chunk + done_chunk);
  CHECK(outcome().usage == Usage{32, 103, 135, 0, 94, true});
}

TEST_CASE_METHOD(Account, "an answer without usage has incomplete usage", "[llm]") {
  answer(200, all_events, piece("x") + finish_chunk + done_chunk);
  CHECK(outcome().usage == Usage{0, 0, 0, 0, 0, false});
}

TEST_CASE_METHOD(Account, "a refused call has no usage", "[llm]") {
  failure(401, R"({"error":{"message":"bad key"}})");
  CHECK(outcome().usage == Usage{});
}

TEST_CASE_METHOD(Account, "an error has the retry delay of the server", "[llm][X19]") {
  const ChatError& error = failure(429, R"({"error":{"message":"slow down"}})", {{"retry-after", "7"}});
  CHECK(error.retryable);
  CHECK(error.retry_after == 7s);
}

// A program whose Clock is not that of the system, a simulation for example, gets the same delay each time.
TEST_CASE_METHOD(Account, "a date to try again is compared with the wall time of the Runtime's clock",
                 "[llm][X19]") {
  class DatedClock final : public Clock {
   public:
    TimePoint now() const noexcept override { return TimePoint(1h); }
    WallTime wall_time() const noexcept override {
      return std::chrono::sys_days(std::chrono::year(2031) / 1 / 1) + 12h;
    }
    bool runs_by_itself() const noexcept override { return false; }
  } dated;
  Runtime elsewhere({.clock = &dated});
  end();
  heard = {};
  shared = std::make_shared<HttpShared>(detail::loop::engine_of(elsewhere), detail::llm::openai_chat(),
                                        Redactor(), 1 << 20, 1 << 20);
  call = std::make_unique<HttpCall>(shared, parts("c"), ChatRequest(), stop.get_token(),
                                    ChatSink(std::make_unique<Receiver>(*this)));
  const ChatError& error = failure(429, R"({"error":{"message":"slow down"}})",
                                   {{"retry-after", "Wed, 01 Jan 2031 12:00:20 GMT"}});
  CHECK(error.retry_after == 20s);
}

TEST_CASE_METHOD(Account, "an HTML error page keeps Retry-After", "[llm][X19][O5]") {
  const ChatError& error = failure(503, "<html>busy</html>", {{"retry-after", "1"}});
  CHECK(error.code == Errc::http_error);
  CHECK(error.retry_after == 1s);
}

TEST_CASE("an exhausted account is not retryable", "[llm][X19]") {
  const ChatError error =
      Account().failure(429, R"({"error":{"message":"no quota","type":"insufficient_quota","code":null}})");
  CHECK_FALSE(error.retryable);
  CHECK(error.model_specific);
  CHECK(Account().failure(429, R"({"error":{"message":"slow down","type":"requests"}})").retryable);
}

TEST_CASE("errors of the model are marked model-specific", "[llm][X19]") {
  const std::pair<int, const char*> mine[] = {
      {404, R"({"error":{"message":"The model `x` does not exist","code":"model_not_found"}})"},
      {404, R"({"error":{"message":"model \"x\" not found, try pulling it first"}})"},
      {404, R"({"error":{"message":"No endpoints found for x/y.","code":404}})"},
      {404, R"({"type":"error","error":{"type":"not_found_error","message":"model: x"}})"},
      {400, R"({"error":{"message":"This model's maximum context length is 8 tokens"}})"},
      {400, R"({"error":{"message":"The input token count exceeds the maximum number of tokens allowed"}})"},
      {402, R"({"error":{"message":"Insufficient Balance"}})"},
      {429, R"({"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}})"},
      {400, R"({"error":{"message":"too long","code":"context_length_exceeded"}})"},
      {400, R"({"error":{"code":400,"message":"exceeds the available Context Size"}})"},
      {400,
       R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9"}})"}};
  for (const auto& [status, body] : mine) {
    INFO(body);
    CHECK(Account().failure(status, body).model_specific);
  }
  const std::pair<int, const char*> others[] = {
      {401, R"({"error":{"message":"this model needs a key"}})"},
      {404, R"({"detail":"Not Found"})"},
      {404, "<html>the model of a page</html>"},
      {400, R"({"error":{"message":"tools must be an array"}})"},
      {429, R"({"error":{"message":"too many tokens per minute for this model"}})"}};
  for (const auto& [status, body] : others) {
    INFO(body);
    CHECK_FALSE(Account().failure(status, body).model_specific);
  }
}

TEST_CASE_METHOD(Account, "rate limits of the head are reported before the first delta", "[llm][Y5]") {
  call->on_head(
      {.status = 200, .content_type = all_events, .fields = {{"x-ratelimit-remaining-requests", "3"}}});
  REQUIRE(limit);
  CHECK(limit->requests_left == 3U);
  CHECK(heard.deltas.empty());
}

TEST_CASE_METHOD(Account, "a refusal is an answer with the finish reason refusal", "[llm][O2]") {
  call->on_head({.status = 200, .content_type = all_events});
  call->on_body("data: {\"choices\":[{\"delta\":{\"refusal\":\"I will not.\"}}]}\n\n" + finish_chunk +
                done_chunk);
  end();
  CHECK(heard.text() == "I will not.");
  CHECK(heard.completed());
  CHECK(outcome().finish_reason == FinishReason::refusal);
}

TEST_CASE_METHOD(Account, "reasoning is reported apart from text and before the text of its chunk", "[llm]") {
  call->on_head({.status = 200, .content_type = all_events});
  call->on_body("data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\",\"content\":\"\"}}]}\n\n");
  CHECK(thoughts == "hm");
  CHECK(heard.text().empty());
  call->on_body("data: {\"choices\":[{\"delta\":{\"content\":\"yes\",\"reasoning\":\"!\"}}]}\n\n" +
                finish_chunk);
  end();
  CHECK(thoughts == "hm!");
  CHECK(heard.text() == "yes");
}

TEST_CASE_METHOD(Account, "a call that never reached the server has no usage", "[llm][router]") {
  call->on_end({Errc::network_error, "refused", 0, false});
  CHECK(outcome().usage == Usage{});
}

TEST_CASE_METHOD(Account, "a call that was sent and not answered has unknown usage", "[llm]") {
  call->on_end({Errc::network_error, "cut", 0, true});
  CHECK(outcome().usage == Usage{0, 0, 0, 0, 0, false});
}
