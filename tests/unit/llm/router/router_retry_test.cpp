// What is tried again, where, and when.
#include "unit/llm/router/router_fixture.hpp"

#include <limits>
#include <optional>
#include <stdexcept>

using namespace agentcore;
using namespace agentcore::test;
using Fixture = RouterFixture;
using Notice = Fixture::Notice;
using Words = std::vector<std::string>;

namespace {

// A model that answers from within chat().
class InstantClient final : public LlmClient {
 public:
  explicit InstantClient(std::deque<Error> errors) : errors_(std::move(errors)) {}
  void chat(ChatRequest, StopToken, ChatSink sink) override {
    ++calls;
    if (!errors_.empty()) {
      const Error error = errors_.front();
      errors_.pop_front();
      return sink.finish(ChatOutcome::failed(error));
    }
    sink.reasoning("hm");
    sink.delta("instant");
    sink.finish(ChatOutcome::completed(FinishReason::complete));
  }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }
  int calls = 0;

 private:
  std::deque<Error> errors_;
};

// A server whose first answer is a 429 with its limits in the head; the second is good.
class LimitedClient final : public LlmClient {
 public:
  LimitedClient(Runtime& runtime, RateLimit limit, std::chrono::milliseconds retry_after)
      : runtime_(runtime), limit_(limit), retry_after_(retry_after) {}
  void chat(ChatRequest, StopToken, ChatSink sink) override {
    at.push_back(runtime_.now());
    if (at.size() > 1) return sink.finish(ChatOutcome::completed(FinishReason::complete));
    sink.rate_limit(limit_);
    sink.finish(ChatOutcome::failed(busy(retry_after_)));
  }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }
  std::vector<TimePoint> at;

 private:
  Runtime& runtime_;
  const RateLimit limit_;
  const std::chrono::milliseconds retry_after_;
};

class ThrowingClient final : public LlmClient {
 public:
  void chat(ChatRequest, StopToken, ChatSink) override { throw std::runtime_error("x"); }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "an answer comes through as it is", "[llm][router]") {
  make();
  ScriptedReply reply =
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

TEST_CASE_METHOD(Fixture, "a route without a model leaves the request's", "[llm][router]") {
  options.routes[0].model = "";
  make();
  ChatRequest request = test::ask("a");
  request.model = "asked for";
  router->chat(request, {}, heard.sink());
  CHECK(idle());
  CHECK(first.asked.at(0).model == "asked for");
}

TEST_CASE_METHOD(Fixture, "what passes is tried again on its route, up to max_attempts, then on the next",
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

TEST_CASE_METHOD(Fixture, "when no route is left, the last error is the outcome, and says how often",
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

TEST_CASE_METHOD(Fixture, "a pause that is too long to be waited for is told", "[llm][router][X19]") {
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

TEST_CASE_METHOD(Fixture, "max_attempts counts attempts, not retries", "[llm][router][X20]") {
  options.retry.max_attempts = 1;
  make_one();
  first.script = {fails(cut)};
  ask(heard);
  CHECK(idle());
  CHECK(heard.failed_with(Errc::network_error));
  CHECK(heard.error().message == "cut");
  CHECK(first.asked.size() == 1);
}

TEST_CASE_METHOD(Fixture, "what is the model's goes on with the next route at once",
                 "[llm][router][X19][O4]") {
  make();
  first.script = {fails(unknown_model)};
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "second");
  CHECK(second.at.at(0) == first.at.at(0));
  CHECK(notices == std::vector<Notice>{{"a", 1, 0, 1, 0s, Errc::api_error}});
}

TEST_CASE_METHOD(Fixture, "a model that passes away for a while is tried again where there is no other",
                 "[llm][router][X19]") {
  Error away = unknown_model;
  away.retryable = true;
  first.script = {fails(away), fails(away), fails(unknown_model)};
  make_one();
  ask(heard);
  CHECK(idle());
  CHECK(heard.failed_with(Errc::api_error));
  CHECK(first.asked.size() == 3);
}

TEST_CASE_METHOD(Fixture, "everything else is the end, though there is another route", "[llm][router][X19]") {
  make();
  for (const Error& error : {bad_key, Error{.code = Errc::invalid_response, .message = "x"},
                             Error{.code = Errc::callback_failed, .message = "x", .retryable = true}}) {
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

TEST_CASE_METHOD(Fixture, "a call of which a delta was delivered is never tried again",
                 "[llm][router][X19]") {
  make();
  first.script = {fails(cut, {"half an "})};
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "half an ");
  CHECK(heard.failed_with(Errc::network_error));
  CHECK(first.asked.size() == 1);
  CHECK(second.asked.empty());
}

TEST_CASE_METHOD(Fixture, "the back-off grows, jitters, and is the seed's", "[llm][router][X20]") {
  options.retry.backoff = {};
  options.retry.max_attempts = 6;
  options.breaker.failures = 0;
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

TEST_CASE_METHOD(Fixture, "Retry-After is the least that is waited", "[llm][router][X19]") {
  options.retry.backoff = {};
  make_one();
  first.script = {fails(busy(20s))};
  ask(heard);
  CHECK(idle());
  CHECK(heard.completed());
  CHECK(first.at.at(1) - first.at[0] == 20s);
}

TEST_CASE_METHOD(Fixture, "a 429 is waited for as long as it says, and the notice names that",
                 "[llm][router][X19][limits]") {
  const RateLimit minute{.requests = 60, .requests_left = 0, .requests_reset = 60s};
  const auto waited = [&](const RateLimit& limit, std::chrono::milliseconds retry_after) {
    LimitedClient limited(*runtime, limit, retry_after);
    options.routes = {{.client = &limited}};
    notices.clear();
    make();
    ChatRecord record;
    ask(record);
    CHECK(idle());
    CHECK(record.completed());
    router.reset();
    REQUIRE(limited.at.size() == 2);
    REQUIRE(notices.size() == 1);
    CHECK(notices[0].delay == limited.at[1] - limited.at[0]);
    return notices[0].delay;
  };
  CHECK(waited(minute, 5s) == 5s);  // Retry-After, not the 60 s until all is there again
  options.retry.backoff = [](std::uint32_t, const Error&) { return Duration(10ms); };
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

TEST_CASE_METHOD(Fixture, "who asks for more patience than allowed is not waited for", "[llm][router][X19]") {
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

TEST_CASE_METHOD(Fixture, "too much patience on the only route is the error itself", "[llm][router][X19]") {
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

TEST_CASE_METHOD(Fixture, "calls that wait learn that their endpoint is not to be waited for",
                 "[llm][router][X19]") {
  options.limits.per_endpoint = 1;
  make();
  first.script = {fails(busy(10min))};
  ask(heard, "a");
  ask(other, "b");
  CHECK(router->slots().waiting() == 1);
  CHECK(idle());
  CHECK(heard.text() == "second");
  CHECK(other.text() == "second");
  CHECK(first.asked.size() == 1);
}

TEST_CASE_METHOD(Fixture, "the host's own back-off is asked, and may fail", "[llm][router][X20][G16]") {
  std::vector<std::pair<std::uint32_t, Errc>> questions;
  options.retry.backoff = [&](std::uint32_t attempt, const Error& error) -> Duration {
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

TEST_CASE_METHOD(Fixture, "usage is that of all attempts", "[llm][router]") {
  make_one();
  ScriptedReply half = fails(cut);
  half.usage = {.prompt_tokens = 10, .completion_tokens = 1, .total_tokens = 11, .complete = false};
  first.script = {half, words({"x"}, {.prompt_tokens = 10, .completion_tokens = 5, .total_tokens = 15})};
  ask(heard);
  CHECK(idle());
  REQUIRE(heard.completed());
  CHECK(heard.outcomes[0].usage ==
        Usage{.prompt_tokens = 20, .completion_tokens = 6, .total_tokens = 26, .complete = false});
}

TEST_CASE_METHOD(Fixture, "cost is that of all attempts, and unknown when that of one that used tokens is",
                 "[llm][router]") {
  struct Seller final : LlmClient {
    void chat(ChatRequest, StopToken, ChatSink sink) override {
      ChatOutcome outcome =
          left-- > 0 ? ChatOutcome::failed(cut) : ChatOutcome::completed(FinishReason::complete);
      outcome.usage.total_tokens = 10;
      if (left < 0 || tells) outcome.cost = 0.25;
      sink.finish(std::move(outcome));
    }
    bool abort(std::string_view) override { return false; }
    bool has_active_request(std::string_view) const override { return false; }
    int left = 2;
    bool tells = true;
  } seller;
  seller.tells = GENERATE(true, false);
  options.routes = {{.client = &seller}};
  make();
  ask(heard);
  CHECK(idle());
  REQUIRE(heard.completed());
  CHECK(heard.outcomes[0].usage.total_tokens == 30);
  CHECK(heard.outcomes[0].cost == (seller.tells ? std::optional(0.75) : std::nullopt));
}

TEST_CASE_METHOD(Fixture, "clients that answer from within chat() are taken along the routes as well",
                 "[llm][router]") {
  InstantClient one({unknown_model}), two({cut, cut});
  options.routes = {{.client = &one}, {.client = &two}};
  make();
  ask(heard);
  CHECK_FALSE(heard.ended());
  CHECK(idle());
  CHECK(heard.text() == "instant");
  CHECK(one.calls == 1);
  CHECK(two.calls == 3);
  ask(other);
  CHECK(other.completed());  // at once
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a client that throws has dropped its call", "[llm][router][G16]") {
  ThrowingClient thrower;
  options.routes = {{.client = &thrower}};
  make();
  ask(heard);
  CHECK(heard.failed_with(Errc::client_dropped_call));
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "thoughts and limits are passed on, and a thought is part of an answer",
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
  struct Thinker final : LlmClient {
    void chat(ChatRequest, StopToken, ChatSink sink) override {
      ++calls;
      sink.rate_limit({.requests_left = 7});
      sink.reasoning("hm");
      sink.finish(ChatOutcome::failed(cut));
    }
    bool abort(std::string_view) override { return false; }
    bool has_active_request(std::string_view) const override { return false; }
    int calls = 0;
  } thinker;
  options.routes = {{.client = &thinker}};
  make();
  std::vector<std::string> lines;
  router->chat(test::ask("a"), {}, ChatSink(std::make_unique<Heard>(lines)));
  CHECK(idle());
  CHECK(lines == Words{"left 7", "thought hm", "end network_error"});
  CHECK(thinker.calls == 1);
}

TEST_CASE_METHOD(Fixture, "bad options fail every call and say what to change", "[llm][router]") {
  const std::pair<std::function<void(RouterOptions&)>, const char*> cases[] = {
      {[](RouterOptions& o) { o.routes.clear(); }, "RouterOptions::routes"},
      {[](RouterOptions& o) { o.routes[1].client = nullptr; }, "routes[1].client"},
      {[](RouterOptions& o) { o.retry.max_attempts = 0; }, "max_attempts"},
      {[](RouterOptions& o) { o.retry.first_delay = -1s; }, "first_delay"},
      {[](RouterOptions& o) { o.retry.max_delay = -1s; }, "max_delay"},
      {[](RouterOptions& o) { o.retry.max_retry_after = -1s; }, "max_retry_after"},
      {[](RouterOptions& o) { o.retry.deadline = -1s; }, "deadline"},
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
    CHECK_FALSE(router->is_open(0));
    options = good;
  }
  Runtime stranger({.clock = &clock});
  options.slots = std::make_shared<CallSlots>(stranger);
  make();
  heard = {};
  ask(heard);
  CHECK(heard.failed_with(Errc::invalid_config));
  CHECK(first.asked.empty());
}
