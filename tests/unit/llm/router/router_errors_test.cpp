// What a router does with the errors of a real client: bytes of a provider on the first route, a second route
// behind it.
#include "support/catch.hpp"
#include "support/observe/chat_record.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/http_recording.hpp>
#include <agentcore/llm_router.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

HttpExchange exchange(int status, std::string body, std::vector<std::string> headers = {}) {
  HttpExchange made;
  made.url = "https://api.test/v1/chat/completions";
  made.status = status;
  made.content_type = body.starts_with("data:") ? "text/event-stream" : "application/json";
  made.headers = std::move(headers);
  made.body = {{.bytes = std::move(body)}};
  return made;
}

// Two routes; the first one answers each attempt with the same exchange.
struct Routes {
  explicit Routes(const HttpExchange& answer, bool has_second = true) {
    HttpLlmOptions options;
    options.base_url = "https://api.test/v1";
    options.model = "m";
    options.replay = std::make_shared<HttpReplay>(std::vector<HttpExchange>(9, answer));
    first = std::make_unique<HttpLlmClient>(runtime, options);
    RouterOptions router_options;
    router_options.routes = {{.client = first.get()}};
    if (has_second) router_options.routes.push_back({.client = second.get()});
    router_options.retry.backoff = [](std::uint32_t, const ChatError&) { return Duration(1s); };
    router_options.on_retry = [this](const RetryNotice& notice) { codes.push_back(notice.error.code); };
    router = std::make_unique<LlmRouter>(runtime, router_options);
    router->chat(ask("a"), {}, heard.sink());
    CHECK(runtime.run_until_idle(std::chrono::hours(1)).is_idle());
  }

  testing::ManualClock clock;
  Runtime runtime{{.clock = &clock, .seed = 1, .log = [](const LogRecord&) {}}};
  std::unique_ptr<HttpLlmClient> first;
  std::unique_ptr<testing::ScriptedClient> second =
      std::make_unique<testing::ScriptedClient>(runtime, [](const ChatRequest&) {
        testing::ScriptedReply reply;
        reply.deltas = {"second"};
        return reply;
      });
  std::unique_ptr<LlmRouter> router;
  std::vector<Errc> codes;  // of the attempts that were not the last
  ChatRecord heard;
};

const HttpExchange too_long[] = {
    exchange(400, R"({"error":{"message":"Your input exceeds the context window of this model."}})"),
    exchange(413, R"({"error":{"message":"x"}})"),
    exchange(200,
             "data: "
             R"({"error":{"message":"x","code":"context_length_exceeded"}})"
             "\n\n"),
    exchange(500, R"({"error":{"code":500,"message":"x","type":"exceed_context_size_error"}})")};
const HttpExchange unknown[] = {
    exchange(404,
             R"({"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}})"),
    exchange(400, R"({"error":{"message":"Model Not Exist","type":"invalid_request_error"}})"),
    exchange(503, R"({"error":{"message":"x","code":"model_not_found"}})")};
const HttpExchange used_up[] = {
    exchange(402, R"({"error":{"message":"Insufficient Balance"}})"),
    exchange(429, R"({"error":{"message":"x","code":"insufficient_quota"}})", {"retry-after: 1"}),
    exchange(200,
             "data: "
             R"({"error":{"code":402,"message":"Insufficient credits"}})"
             "\n\n")};

template <std::size_t N>
void check_next_route(const HttpExchange (&answers)[N], Errc code) {
  for (const HttpExchange& answer : answers) {
    CAPTURE(answer.status, answer.body[0].bytes);
    const Routes with(answer);
    REQUIRE(with.heard.completed());
    CHECK(with.heard.text() == "second");
    CHECK(with.codes == std::vector<Errc>{code});  // one attempt, then the next route
    const Routes without(answer, false);
    REQUIRE(without.heard.failed_with(code));
    CHECK(without.codes.empty());  // never tried again
    CHECK_FALSE(without.heard.error().retryable);
  }
}

}  // namespace

TEST_CASE("a request that is too long for a model goes to the next route at once", "[llm][router][X19]") {
  check_next_route(too_long, Errc::api_error);
}

TEST_CASE("an unknown model is asked for once", "[llm][router][X19]") {
  check_next_route(unknown, Errc::api_error);
}

TEST_CASE("a used-up account is asked once, and the next route pays", "[llm][router][X19]") {
  check_next_route(used_up, Errc::account_exhausted);
}

TEST_CASE("an overload in a stream is tried again, and then goes to the next route", "[llm][router][X19]") {
  const Routes routes(exchange(200,
                               "data: "
                               R"({"error":{"message":"wait","type":"engine_overloaded_error"}})"
                               "\n\n"));
  REQUIRE(routes.heard.completed());
  CHECK(routes.codes == std::vector<Errc>(3, Errc::api_error));
}

TEST_CASE("a quota that names a time is waited for", "[llm][router][X19]") {
  const Routes routes(
      exchange(429,
               R"([{"error":{"code":429,"message":"You exceeded your current quota, please check your plan )"
               R"(and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"3s"}]}}])"),
      false);
  REQUIRE(routes.heard.failed_with(Errc::api_error));
  CHECK(routes.codes.size() == 2);
  CHECK(routes.heard.error().retry_after == 3s);
}

TEST_CASE("after x-should-retry: false the next route is asked, and the same one is not",
          "[llm][router][X19]") {
  const HttpExchange answer = exchange(500, R"({"error":{"message":"x"}})", {"x-should-retry: false"});
  const Routes with(answer);
  CHECK(with.heard.text() == "second");
  CHECK(with.codes.size() == 1);
  CHECK(Routes(answer, false).codes.empty());
}
