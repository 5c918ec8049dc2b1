// What is tried again, where, and when.
#include "unit/llm/router/router_fixture.hpp"

#include <agentcore/testing/scripted_client.hpp>

#include <limits>
#include <optional>
#include <stdexcept>

using namespace agentcore;
using namespace agentcore::test;
using Fixture = RouterFixture;
using Notice = Fixture::Notice;
using Words = std::vector<std::string>;

namespace {

// Delivers these errors, one for each call, and then answers, all from within chat().
FakeClient::OnChat instantly(std::deque<ChatError> errors) {
  return [errors = std::move(errors)](FakeClient&, FakeClient::Call& call) {
    if (call.number < errors.size())
      return FakeClient::finish(call, ChatOutcome::failed(errors[call.number]));
    call.sink.reasoning("hm");
    call.sink.delta("instant");
    FakeClient::complete(call);
  };
}

// As a server whose first answer is a 429 with its limits in the head; the second is good. Records in `at`
// when it was called.
FakeClient::OnChat limited_once(Runtime& runtime, RateLimit limit, std::chrono::milliseconds retry_after,
                                std::vector<TimePoint>& at) {
  return [&runtime, limit, retry_after, &at](FakeClient&, FakeClient::Call& call) {
    at.push_back(runtime.now());
    if (at.size() > 1) return FakeClient::complete(call);
    call.sink.rate_limit(limit);
    FakeClient::finish(call, ChatOutcome::failed(busy(retry_after)));
  };
}

}  // namespace

TEST_CASE_METHOD(Fixture, "an answer is passed through unchanged", "[llm][router]") {
  make();
  testing::ScriptedReply reply =
      words({"one", " two"}, {.prompt_tokens = 3, .completion_tokens = 2, .total_tokens = 5});
  reply.tool_calls = {{.id = "1", .name = "t"}};
  reply.finish_reason = FinishReason::tool_calls;
  first.script = {reply};
  ChatRequest request = test::ask("a", "hello");
  request.model = "asked for";
  router->chat(request, {}, heard.sink());
  CHECK(router->open_calls() == 1);
  CHECK(router->has_active_request("a"));
  CHECK(first.client->has_active_request("a"));
  CHECK(idle());
  CHECK(heard.deltas == Words{"one", " two"});
  REQUIRE(heard.completed());
  CHECK(heard.outcomes[0].finish_reason == FinishReason::tool_calls);
  CHECK(heard.outcomes[0].tool_calls == reply.tool_calls);
  CHECK(heard.outcomes[0].usage == reply.usage);
  CHECK_FALSE(heard.outcomes[0].cost);
  CHECK(first.asked.at(0).model == "m1");
  CHECK(first.asked[0].messages == request.messages);
  CHECK(notices.empty());
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a route without a model uses that of the request", "[llm][router]") {
  options.routes[0].model = "";
  make();
  ChatRequest request = test::ask("a");
  request.model = "asked for";
  router->chat(request, {}, heard.sink());
  CHECK(idle());
  CHECK(first.asked.at(0).model == "asked for");
}

TEST_CASE_METHOD(Fixture, "a temporary failure is retried up to max_attempts and then on the next route",
                 "[llm][router][X19][X20][O3]") {
  make();
  first.script = {fails(cut), fails(busy(0ms)), fails(busy(0ms, 503))};
  ask(heard);
  CHECK(idle());
  CHECK(heard.completed());
  CHECK(heard.text() == "second");
  CHECK(first.asked.size() == 3);
  CHECK(first.asked[2].messages == first.asked[0].messages);
  CHECK(second.asked.at(0).messages == first.asked[0].messages);
  CHECK(second.asked[0].model == "m2");
  CHECK(notices == std::vector<Notice>{{"a", 1, 0, 0, 1s, Errc::network_error},
                                       {"a", 2, 0, 0, 1s, Errc::api_error},
                                       {"a", 3, 0, 1, 0s, Errc::api_error}});
  CHECK(
      logged("info a model call is tried again agent=a route=0 next_route=0 attempt=1 delay_ms=1000 "
             "error=network_error http_status=0"));
  CHECK(logged("warning a model call goes on with another route agent=a route=0 next_route=1 attempt=3"));
}

TEST_CASE_METHOD(Fixture, "without another route the last error is the outcome with the number of attempts",
                 "[llm][router][X19][X20]") {
  make();
  for (int i = 0; i < 3; ++i) first.script.push_back(fails(cut));
  for (int i = 0; i < 3; ++i) second.script.push_back(fails(busy(0ms, 503)));
  ask(heard);
  CHECK(idle());
  REQUIRE(heard.failed_with(Errc::api_error));
  CHECK(heard.error().message == "busy (6 attempts; the last on route 2 of 2)");
  CHECK(heard.error().http_status == 503);
  CHECK(heard.error().retryable);
  CHECK(all_free());
  CHECK_FALSE(router->has_active_request("a"));
}

TEST_CASE_METHOD(Fixture, "an error names a pause that is too long to wait for", "[llm][router][X19]") {
  options.retry.max_retry_after = 60s;
  make_one();
  first.script = {fails(busy(90s, 429))};
  ask(heard);
  CHECK(idle());
  REQUIRE(heard.failed_with(Errc::api_error));
  CHECK(heard.error().message ==
        "busy; the endpoint asks for a pause of 90.0 s, longer than RetryPolicy::max_retry_after (60.0 s) "
        "allows");
  CHECK(heard.error().retry_after == 90s);
  CHECK(first.asked.size() == 1);
}

TEST_CASE_METHOD(Fixture, "max_attempts counts attempts and not retries", "[llm][router][X20]") {
  options.retry.max_attempts = 1;
  make_one();
  first.script = {fails(cut)};
  ask(heard);
  CHECK(idle());
  CHECK(heard.failed_with(Errc::network_error));
  CHECK(heard.error().message == "cut");
  CHECK(first.asked.size() == 1);
}

TEST_CASE_METHOD(Fixture, "a model-specific error uses the next route at once", "[llm][router][X19][O4]") {
  make();
  first.script = {fails(unknown_model)};
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "second");
  CHECK(second.at.at(0) == first.at.at(0));
  CHECK(notices == std::vector<Notice>{{"a", 1, 0, 1, 0s, Errc::api_error}});
}

TEST_CASE_METHOD(Fixture, "a temporarily unavailable model is retried if there is no other route",
                 "[llm][router][X19]") {
  ChatError away = unknown_model;
  away.retryable = true;
  first.script = {fails(away), fails(away), fails(unknown_model)};
  make_one();
  ask(heard);
  CHECK(idle());
  CHECK(heard.failed_with(Errc::api_error));
  CHECK(first.asked.size() == 3);
}

TEST_CASE_METHOD(Fixture, "other errors end the call even with another route", "[llm][router][X19]") {
  make();
  for (const ChatError& error :
       {bad_key, ChatError{.code = Errc::invalid_response, .message = "x"},
        ChatError{.code = Errc::callback_failed, .message = "x", .retryable = true}}) {
    heard = {};
    first.script = {fails(error)};
    ask(heard);
    CHECK(idle());
    CHECK(heard.failed_with(error.code));
  }
  CHECK(first.asked.size() == 3);
  CHECK(second.asked.empty());
  CHECK(notices.empty());
}

TEST_CASE_METHOD(Fixture, "a call is never retried after a delta", "[llm][router][X19]") {
  make();
  first.script = {fails(cut, {"half an "})};
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "half an ");
  CHECK(heard.failed_with(Errc::network_error));
  CHECK(first.asked.size() == 1);
  CHECK(second.asked.empty());
}

TEST_CASE_METHOD(Fixture, "the back-off grows with jitter and depends on the seed", "[llm][router][X20]") {
  options.retry.backoff = {};
  options.retry.max_attempts = 6;
  options.breaker.failures = no_limit;
  make_one();
  for (int i = 0; i < 6; ++i) first.script.push_back(fails(cut));
  ask(heard);
  CHECK(idle());
  REQUIRE(first.at.size() == 6);
  bool jitters = false;
  for (std::size_t i = 0; i < 5; ++i) {
    const Duration waited = first.at[i + 1] - first.at[i];
    CHECK(waited == notices.at(i).delay);
    CHECK(waited <= Duration(1s) * (1 << i));
    jitters = jitters || waited > Duration(1s);
  }
  CHECK(jitters);
}

TEST_CASE_METHOD(Fixture, "Retry-After is the minimum wait", "[llm][router][X19]") {
  options.retry.backoff = {};
  make_one();
  first.script = {fails(busy(20s))};
  ask(heard);
  CHECK(idle());
  CHECK(heard.completed());
  CHECK(first.at.at(1) - first.at[0] == 20s);
}

TEST_CASE_METHOD(Fixture, "a 429 is retried after its requested wait which the notice names",
                 "[llm][router][X19][limits]") {
  const RateLimit minute{.requests = 60, .requests_left = 0, .requests_reset = 60s};
  const auto waited = [&](const RateLimit& limit, std::chrono::milliseconds retry_after) {
    std::vector<TimePoint> at;
    FakeClient limited(limited_once(*runtime, limit, retry_after, at));
    options.routes = {{.client = &limited}};
    notices.clear();
    make();
    ChatRecord record;
    ask(record);
    CHECK(idle());
    CHECK(record.completed());
    router.reset();
    REQUIRE(at.size() == 2);
    REQUIRE(notices.size() == 1);
    CHECK(notices[0].delay == at[1] - at[0]);
    return notices[0].delay;
  };
  CHECK(waited(minute, 5s) == 5s);  // Retry-After, not the 60 s until all is there again
  options.retry.backoff = [](std::uint32_t, const ChatError&) { return Duration(10ms); };
  CHECK(waited(minute, 0s) == 1s);  // the first of 60 requests comes back
  CHECK(waited({.requests_left = 0, .requests_reset = 20s}, 0s) == 20s);
  CHECK(waited({.requests = 9, .requests_left = 0, .requests_reset = 20s, .fixed_window = true}, 0s) == 20s);
  CHECK(waited({.requests = 2, .requests_left = 2, .requests_reset = 20s}, 0s) == 10ms);
}

TEST_CASE_METHOD(Fixture, "a notice of another route names the wait that its endpoint asks for",
                 "[llm][router][X19][limits]") {
  options.retry.max_attempts = 1;
  make();
  first.script = {fails(unknown_model), fails(unknown_model)};
  second.script = {fails(busy(7s))};
  ask(other, "b");
  CHECK(idle());
  CHECK(other.failed_with(Errc::api_error));
  notices.clear();
  ask(heard, "a");
  const TimePoint asked = runtime->now();
  CHECK(idle());
  CHECK(heard.text() == "second");
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].next_route == 1);
  CHECK(notices[0].delay == second.at.at(1) - asked);
}

TEST_CASE_METHOD(Fixture, "a requested wait beyond the allowed one is not waited for", "[llm][router][X19]") {
  make();
  first.script = {fails(busy(61s))};
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "second");
  CHECK(second.at.at(0) == first.at.at(0));

  // Nor is it by the next call, which is not even made there.
  ask(other, "b");
  CHECK(idle());
  CHECK(other.text() == "second");
  CHECK(first.asked.size() == 1);
  CHECK(notices.back() == Notice{"b", 0, 0, 1, 0s, Errc::http_error});

  runtime->run_for(61s);
  heard = {};
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "first");
}

TEST_CASE_METHOD(Fixture, "a too long requested wait on the only route fails the call",
                 "[llm][router][X19]") {
  make_one();
  first.script = {fails(busy(std::chrono::milliseconds::max()))};
  ask(heard);
  CHECK(idle());
  CHECK(heard.failed_with(Errc::api_error));
  ask(other, "b");
  CHECK(idle());
  REQUIRE(other.failed_with(Errc::http_error));
  CHECK(other.error().http_status == 429);
  CHECK(other.error().retryable);
  CHECK(other.error().retry_after > 59min);
}

TEST_CASE_METHOD(Fixture, "waiting calls leave an endpoint whose pause is too long", "[llm][router][X19]") {
  options.limits.per_endpoint = 1;
  make();
  first.script = {fails(busy(10min))};
  ask(heard, "a");
  ask(other, "b");
  CHECK(router->call_slots().waiting() == 1);
  CHECK(idle());
  CHECK(heard.text() == "second");
  CHECK(other.text() == "second");
  CHECK(first.asked.size() == 1);
}

TEST_CASE_METHOD(Fixture, "the back-off function of the host is used and may throw",
                 "[llm][router][X20][G16]") {
  std::vector<std::pair<std::uint32_t, Errc>> questions;
  options.retry.backoff = [&](std::uint32_t attempt, const ChatError& error) -> Duration {
    questions.emplace_back(attempt, error.code);
    if (attempt == 2) throw std::runtime_error("x");
    return attempt == 1 ? Duration(7s) : Duration(-1s);
  };
  options.retry.max_attempts = 4;
  make_one();
  for (int i = 0; i < 3; ++i) first.script.push_back(fails(cut));
  ask(heard);
  CHECK(idle());
  CHECK(heard.completed());
  using Questions = std::vector<std::pair<std::uint32_t, Errc>>;
  CHECK(questions == Questions{{1, Errc::network_error}, {2, Errc::network_error}, {3, Errc::network_error}});
  CHECK(first.at.at(1) - first.at[0] == 7s);
  CHECK(first.at.at(2) - first.at[1] <= 2s);
  CHECK(first.at.at(3) == first.at[2]);
  CHECK(logged("error a callback threw callback=RetryPolicy::backoff"));
}

TEST_CASE_METHOD(Fixture, "the usage is the sum of all attempts", "[llm][router]") {
  make_one();
  testing::ScriptedReply half = fails(cut);
  half.usage = {.prompt_tokens = 10, .completion_tokens = 1, .total_tokens = 11, .complete = false};
  first.script = {half, words({"x"}, {.prompt_tokens = 10, .completion_tokens = 5, .total_tokens = 15})};
  ask(heard);
  CHECK(idle());
  REQUIRE(heard.completed());
  CHECK(heard.outcomes[0].usage ==
        Usage{.prompt_tokens = 20, .completion_tokens = 6, .total_tokens = 26, .complete = false});
}

TEST_CASE_METHOD(Fixture, "the cost is the sum of all attempts and unknown if one is unknown",
                 "[llm][router]") {
  const int silent =
      GENERATE(-1, 0, 1, 2);  // the attempt that reports no cost, if any; the last one completes
  FakeClient seller([&](FakeClient&, FakeClient::Call& call) {
    const bool fails = call.number < 2;
    ChatOutcome outcome = fails ? ChatOutcome::failed(cut) : ChatOutcome::completed(FinishReason::complete);
    outcome.usage.total_tokens = 10;
    if (static_cast<int>(call.number) != silent) outcome.cost = 0.25;
    FakeClient::finish(call, std::move(outcome));
  });
  options.routes = {{.client = &seller}};
  make();
  ask(heard);
  CHECK(idle());
  REQUIRE(heard.completed());
  CHECK(heard.outcomes[0].usage.total_tokens == 30);
  CHECK(heard.outcomes[0].cost == (silent < 0 ? std::optional(0.75) : std::nullopt));
}

TEST_CASE_METHOD(Fixture, "clients may answer from within chat() on every route", "[llm][router]") {
  FakeClient one(instantly({unknown_model})), two(instantly({cut, cut}));
  options.routes = {{.client = &one}, {.client = &two}};
  make();
  ask(heard);
  CHECK_FALSE(heard.ended());
  CHECK(idle());
  CHECK(heard.text() == "instant");
  CHECK(one.calls() == 1);
  CHECK(two.calls() == 3);
  ask(other);
  CHECK(other.completed());  // at once
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a client that throws has dropped its call", "[llm][router][G16]") {
  FakeClient thrower([](FakeClient&, FakeClient::Call& call) {
    const ChatSink dropped = std::move(call.sink);
    throw std::runtime_error("x");
  });
  options.routes = {{.client = &thrower}};
  make();
  ask(heard);
  CHECK(heard.failed_with(Errc::client_dropped_call));
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "reasoning and limits are passed on and reasoning counts as a delta",
                 "[llm][router]") {
  struct Heard final : ChatSink::Receiver {
    explicit Heard(std::vector<std::string>& to) : lines(to) {}
    void on_delta(std::string_view text) override { lines.push_back("delta " + std::string(text)); }
    void on_reasoning(std::string_view text) override { lines.push_back("thought " + std::string(text)); }
    void on_rate_limit(const RateLimit& limit) override {
      lines.push_back("left " + std::to_string(*limit.requests_left));
    }
    void on_outcome(ChatOutcome outcome) override {
      lines.push_back("end " + std::string(to_string(outcome.error.code)));
    }
    std::vector<std::string>& lines;
  };
  FakeClient thinker([](FakeClient&, FakeClient::Call& call) {
    call.sink.rate_limit({.requests_left = 7});
    call.sink.reasoning("hm");
    FakeClient::finish(call, ChatOutcome::failed(cut));
  });
  options.routes = {{.client = &thinker}};
  make();
  std::vector<std::string> lines;
  router->chat(test::ask("a"), {}, ChatSink(std::make_unique<Heard>(lines)));
  CHECK(idle());
  CHECK(lines == Words{"left 7", "thought hm", "end network_error"});
  CHECK(thinker.calls() == 1);
}

TEST_CASE_METHOD(Fixture, "invalid options fail every call and name the option", "[llm][router]") {
  const std::pair<std::function<void(RouterOptions&)>, const char*> cases[] = {
      {[](RouterOptions& o) { o.routes.clear(); }, "RouterOptions::routes"},
      {[](RouterOptions& o) { o.routes[1].client = nullptr; }, "routes[1].client"},
      {[](RouterOptions& o) { o.routes.push_back({.endpoint = "three"}); }, "routes[2].client"},
      {[](RouterOptions& o) { o.retry.max_attempts = 0; }, "max_attempts"},
      {[](RouterOptions& o) { o.retry.first_delay = -1s; }, "first_delay"},
      {[](RouterOptions& o) { o.retry.max_delay = -1s; }, "max_delay"},
      {[](RouterOptions& o) { o.retry.max_retry_after = -1s; }, "max_retry_after"},
      {[](RouterOptions& o) { o.retry.timeout = -1s; }, "timeout"},
      {[](RouterOptions& o) { o.breaker.open_for = -1s; }, "open_for"}};
  for (const auto& [spoil, name] : cases) {
    const RouterOptions good = options;
    spoil(options);
    make();
    heard = {};
    ask(heard);
    INFO(name);
    REQUIRE(heard.failed_with(Errc::invalid_config));
    CHECK(heard.error().message.find(name) != std::string::npos);
    CHECK_FALSE(router->is_circuit_open(0));
    options = good;
  }
  Runtime stranger({.clock = &clock});
  options.call_slots = std::make_shared<CallSlots>(stranger);
  make();
  heard = {};
  ask(heard);
  CHECK(heard.failed_with(Errc::invalid_config));
  CHECK(first.asked.empty());
}

TEST_CASE_METHOD(Fixture, "a notice counts the attempts on its route alone", "[llm][router][X20]") {
  options.retry.max_attempts = 2;
  make();
  first.script = {fails(cut), fails(cut)};
  second.script = {fails(cut)};
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "second");
  CHECK(notices == std::vector<Notice>{{"a", 1, 0, 0, 1s, Errc::network_error},
                                       {"a", 2, 0, 1, 0s, Errc::network_error},
                                       {"a", 1, 1, 1, 1s, Errc::network_error}});
}

TEST_CASE_METHOD(Fixture, "where no route may be used the error is that of the first", "[llm][router][X19]") {
  options.breaker.failures = 1;
  options.retry.max_attempts = 1;
  make();
  first.script = {fails(cut)};
  second.script = {fails(busy(61s))};
  ask(heard);
  CHECK(idle());
  ask(other, "b");
  REQUIRE(other.failed_with(Errc::circuit_open));
  CHECK(other.error().message.starts_with("The endpoint \"one\" failed too often"));
}

TEST_CASE_METHOD(Fixture, "an error names a pause that another call of the endpoint was told",
                 "[llm][router][X19]") {
  FakeClient model(*runtime);
  options.routes = {{.client = &model, .endpoint = "one"}};
  options.retry.max_retry_after = 60s;
  make();
  ask(heard, "a");
  ask(other, "b");
  FakeClient::finish(model.call(1), ChatOutcome::failed(busy(90s)));
  CHECK(other.failed_with(Errc::api_error));
  FakeClient::finish(model.call(0), ChatOutcome::failed(busy(0ms, 503)));
  REQUIRE(heard.failed_with(Errc::api_error));
  CHECK(heard.error().message ==
        "busy; the endpoint asks for a pause of 90.0 s, longer than RetryPolicy::max_retry_after (60.0 s) "
        "allows");
}
