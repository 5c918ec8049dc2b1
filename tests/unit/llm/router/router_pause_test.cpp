// Endpoints that ask for a pause, and calls that may not wait for so long.
#include "unit/llm/router/router_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;
using Fixture = RouterFixture;

namespace {

// A model that reports its limits, and answers or fails from within chat().
struct Gauge {
  RateLimit limit;
  ChatError error;
  FakeClient client{[this](FakeClient&, FakeClient::Call& call) {
    call.sink.rate_limit(limit);
    FakeClient::finish(call, error.code == Errc::none ? ChatOutcome::completed(FinishReason::complete)
                                                      : ChatOutcome::failed(error));
  }};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a call with a long requested pause is retried on the next route",
                 "[llm][router][X19]") {
  Gauge gauge;
  gauge.limit = {.requests_left = 0, .requests_reset = 10min};
  gauge.error = GENERATE(busy(0ms, 500), busy(0ms, 429));
  options.routes[0].client = &gauge.client;
  make();
  const TimePoint begin = clock.now();
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "second");
  CHECK(gauge.client.calls() == 1);
  CHECK(second.at.at(0) == begin);

  options.routes.resize(1);  // nowhere else to go: its own error, and now
  make();
  ask(other);
  CHECK(other.failed_with(Errc::api_error));
  CHECK(gauge.client.calls() == 2);
}

TEST_CASE_METHOD(Fixture, "a long pause that begins during a back-off is not waited for",
                 "[llm][router][X19]") {
  make();
  first.script = {fails(cut), fails(busy(10min))};
  const TimePoint begin = clock.now();
  ask(heard, "a");
  polls();
  ask(other, "b");
  CHECK(idle());
  CHECK(heard.text() == "second");
  CHECK(other.text() == "second");
  CHECK(first.asked.size() == 2);
  CHECK(second.at.at(1) - begin == 1s);  // when the back-off was over
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a pause beyond a call's deadline sends it to the next route",
                 "[llm][router][X21]") {
  make();
  first.script = {fails(busy(20s))};
  options.retry.backoff = {};
  ask(other, "b");
  polls();
  ChatRequest request = test::ask("a");
  request.deadline = clock.now() + GENERATE(as<Duration>{}, 5s, 20s);
  router->chat(request, {}, heard.sink());
  polls();
  CHECK(heard.text() == "second");
  CHECK(idle());
  CHECK(other.text() == "first");
}

TEST_CASE_METHOD(Fixture, "a pause beyond the deadline on the only route fails the call with the reason",
                 "[llm][router][X21]") {
  options.retry.backoff = {};
  make_one();
  first.script = {fails(busy(20s))};
  ask(other, "b");
  polls();
  ChatRequest request = test::ask("a");
  request.deadline = clock.now() + 5s;
  router->chat(request, {}, heard.sink());
  REQUIRE(heard.failed_with(Errc::deadline_exceeded));
  CHECK(heard.error().message.find("a pause that lasts another") != std::string::npos);
  CHECK(idle());
  CHECK(other.completed());
}

TEST_CASE_METHOD(
    Fixture, "a call too large for the remainder of an endpoint uses the next route and a small one does not",
    "[llm][router][X19]") {
  Gauge gauge;
  gauge.limit = {.tokens_left = 100, .tokens_reset = 10min};
  options.routes[0].client = &gauge.client;
  make();
  ask(heard);
  CHECK(idle());
  ChatRequest large = test::ask("a");
  large.max_tokens = 1000;
  router->chat(large, {}, other.sink());
  polls();
  CHECK(other.text() == "second");
  heard = {};
  ask(heard);
  CHECK(idle());
  CHECK(heard.completed());
  CHECK(gauge.client.calls() == 2);
}
