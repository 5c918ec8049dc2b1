// Slots, circuits and deadlines of routed calls.
#include "unit/llm/router/router_fixture.hpp"

#include <agentcore/testing/scripted_client.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using Fixture = RouterFixture;
using Notice = Fixture::Notice;

namespace {

// So many calls at once, each with its own agent.
struct Crowd {
  Crowd(Fixture& fixture, std::size_t count, const std::string& prefix = "agent ") : records(count) {
    for (std::size_t i = 0; i < count; ++i) fixture.ask(records[i], prefix + std::to_string(i));
  }
  std::size_t ended() const {
    return static_cast<std::size_t>(std::ranges::count_if(records, [](auto& r) { return r.ended(); }));
  }
  std::vector<ChatRecord> records;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "by default all calls run at once", "[llm][router][Y5]") {
  options.limits = {};
  make();
  Crowd crowd(*this, 20);
  CHECK(router->call_slots().running() == 20);
  CHECK(router->call_slots().waiting() == 0);
  CHECK(idle());
  CHECK(crowd.ended() == 20);
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "with a limit of three, three calls run at once and the others wait in their order",
                 "[llm][router][Y5]") {
  make();
  std::size_t most = 0;
  first.on_asked = [&] { most = std::max(most, first.client->open_calls()); };
  Crowd crowd(*this, 20);
  CHECK(router->call_slots().running() == 3);
  CHECK(router->call_slots().waiting() == 17);
  CHECK(router->open_calls() == 20);
  CHECK(idle());
  CHECK(crowd.ended() == 20);
  CHECK(most <= 3);
  CHECK(first.asked.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) CHECK(first.asked[i].agent_id == "agent " + std::to_string(i));
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a call that backs off frees its slot and keeps its place", "[llm][router][Y5]") {
  options.limits.total = 1;
  make_one();
  first.script = {fails(cut), words({"b"}), silence(), words({"a"}), words({"d"})};
  ChatRecord c, d;
  ask(heard, "a");
  ask(other, "b");
  ask(c, "c");
  ask(d, "d");
  runtime->run_for(2s);  // the back-off of a is over, and c is silent
  CHECK(other.completed());
  CHECK_FALSE(heard.ended());
  router->abort("c");
  CHECK(idle());
  std::vector<std::string> order;
  for (const ChatRequest& request : first.asked) order.push_back(request.agent_id);
  CHECK(order == std::vector<std::string>{"a", "b", "c", "a", "d"});
}

TEST_CASE_METHOD(Fixture, "routers that share slots share their limits", "[llm][router][Y5]") {
  options.call_slots = std::make_shared<CallSlots>(*runtime, CallLimits{.total = 2});
  make();
  LlmRouter another(*runtime, options);
  first.script = {silence(), silence(), words({"x"})};
  ask(heard, "a");
  another.chat(test::ask("b"), {}, other.sink());
  ChatRecord third;
  another.chat(test::ask("c"), {}, third.sink());
  CHECK(&router->call_slots() == options.call_slots.get());
  CHECK(options.call_slots->running() == 2);
  CHECK(options.call_slots->running("one") == 2);
  CHECK(options.call_slots->waiting() == 1);
  router->abort("a");
  polls();
  CHECK(first.asked.size() == 3);
  another.abort("b");
  CHECK(idle());
  CHECK(third.completed());
}

TEST_CASE_METHOD(Fixture, "a call beyond the queue limit is refused with the option to raise",
                 "[llm][router][Y5][G15]") {
  options.limits.total = 1;
  options.limits.max_waiting = 2;
  make();
  first.script = {silence()};
  Crowd crowd(*this, 3);
  ask(heard, "one too many");
  REQUIRE(heard.failed_with(Errc::queue_full));
  CHECK(heard.error().message.find("CallLimits::max_waiting") != std::string::npos);
  CHECK(heard.error().retryable);
  CHECK_FALSE(router->has_active_request("one too many"));
  CHECK(crowd.ended() == 0);
  router.reset();
  CHECK(crowd.ended() == 3);
}

TEST_CASE_METHOD(Fixture, "10000 waiting calls are stopped or served and leave nothing",
                 "[llm][router][Y5][G5]") {
  make();
  first.script = {silence(), silence(), silence()};
  Crowd crowd(*this, 10'000);
  CHECK(router->call_slots().waiting() == 9997);
  for (std::size_t i = 3; i < 10'000; i += 2) CHECK(router->abort("agent " + std::to_string(i)));
  polls(100);
  CHECK(crowd.ended() == 4999);
  for (std::size_t i = 0; i < 3; ++i) router->abort("agent " + std::to_string(i));
  CHECK(idle());
  CHECK(crowd.ended() == 10'000);
  CHECK(first.asked.size() == 3 + 4998);
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "the limit of requests per minute includes retries", "[llm][router]") {
  options.limits = {.total = no_limit, .requests_per_minute = 6};
  make_one();
  first.script = {fails(cut)};
  Crowd crowd(*this, 9);
  CHECK(idle());
  REQUIRE(first.at.size() == 10);
  CHECK(first.at[5] == first.at[0]);
  for (std::size_t i = 6; i < 10; ++i) {
    const Duration late = first.at[i] - first.at[0] - Duration(10s) * static_cast<int>(i - 5);
    CHECK((late > -1us && late < 1us));
  }
}

TEST_CASE_METHOD(Fixture, "tokens per minute are estimated and then corrected", "[llm][router]") {
  options.limits = {.total = no_limit, .tokens_per_minute = 100};
  options.routes[0].endpoint = GENERATE("one", "");
  make_one();
  first.script = {words({"x"}, {.total_tokens = 10})};
  ChatRequest request = test::ask("a", "");
  request.max_tokens = 80;
  router->chat(request, {}, heard.sink());
  request.agent_id = "b";
  router->chat(request, {}, other.sink());
  CHECK(first.asked.size() == 1);
  polls();
  CHECK(first.asked.size() == 2);  // the first had used less than feared
  CHECK(first.at[1] == first.at[0]);
}

TEST_CASE_METHOD(Fixture, "an endpoint that fails repeatedly gets no call for some time",
                 "[llm][router][breaker]") {
  options.breaker = {.failures = 3, .open_for = 30s};
  options.retry.max_attempts = 1;
  make();
  for (int i = 0; i < 3; ++i) first.script.push_back(fails(cut));
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(router->is_circuit_open(0));
    ask(heard, "a");
    CHECK(idle());
  }
  CHECK(router->is_circuit_open(0));
  CHECK_FALSE(router->is_circuit_open(1));
  CHECK_FALSE(router->is_circuit_open(2));
  CHECK(logged("warning an endpoint's circuit opened agent=a route=0 endpoint=one"));
  notices.clear();
  ask(other, "b");
  CHECK(idle());
  CHECK(other.text() == "second");
  CHECK(first.asked.size() == 3);
  CHECK(notices == std::vector<Notice>{{"b", 0, 0, 1, 0s, Errc::circuit_open}});

  runtime->run_for(30s);
  CHECK_FALSE(router->is_circuit_open(0));
  first.script = {silence()};
  ChatRecord probe, meanwhile;
  ask(probe, "c");
  CHECK(router->is_circuit_open(0));
  ask(meanwhile, "d");
  polls();
  CHECK(meanwhile.text() == "second");
  CHECK(router->abort("c"));  // gives its leave back
  polls();
  CHECK_FALSE(router->is_circuit_open(0));
  other = {};
  ask(other, "e");
  CHECK(idle());
  CHECK(other.text() == "first");
  CHECK(logged("info an endpoint's circuit closed agent=e"));
}

TEST_CASE_METHOD(Fixture, "the beginning of an answer closes a circuit and its end counts",
                 "[llm][router][breaker]") {
  options.breaker = {.failures = 1, .open_for = 30s};
  make_one();
  first.script = {fails(cut)};
  ask(heard, "a");
  CHECK(idle());
  runtime->run_for(30s);
  testing::ScriptedReply half = fails(cut, {"half"});
  half.interval = 10s;
  first.script = {half};
  ChatRecord probe;
  ask(probe, "b");
  CHECK(router->is_circuit_open(0));
  polls();
  CHECK(probe.text() == "half");
  CHECK_FALSE(router->is_circuit_open(0));
  ask(other, "c");
  polls();
  CHECK(other.completed());
  CHECK(idle());
  CHECK(probe.failed_with(Errc::network_error));
  CHECK(router->is_circuit_open(0));
}

TEST_CASE_METHOD(Fixture, "calls fail at once when all circuits are open", "[llm][router][breaker]") {
  options.breaker.failures = 1;
  make_one();
  first.script = {fails(cut)};
  ask(heard, "a");
  CHECK(idle());
  CHECK(heard.failed_with(Errc::network_error));  // open: it is not tried again either
  CHECK(heard.error().message == "cut");
  ask(other, "b");
  REQUIRE(other.failed_with(Errc::circuit_open));
  CHECK(other.error().retryable);
  CHECK(other.error().retry_after == 30s);
}

TEST_CASE_METHOD(Fixture, "a circuit that opens sends waiting calls to the next route",
                 "[llm][router][breaker]") {
  options.breaker.failures = 2;
  options.limits.total = 1;
  make();
  first.script = {fails(cut), fails(cut)};
  Crowd crowd(*this, 5);
  CHECK(idle());
  CHECK(first.asked.size() == 2);
  for (const ChatRecord& record : crowd.records) CHECK(record.text() == "second");
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a slot that an open circuit left unused is not counted as a request",
                 "[llm][router][breaker]") {
  options.breaker = {.failures = 1, .open_for = 2s};
  options.limits = {.total = 1, .requests_per_minute = 2};
  make();
  first.script = {fails(cut)};
  ask(heard, "a");
  ask(other, "b");  // gets its slot when the circuit is open
  CHECK(idle());
  CHECK(other.text() == "second");
  runtime->run_for(2s);
  ask(other, "c");
  REQUIRE(first.at.size() == 2);
  CHECK(first.at[1] == clock.now());
}

TEST_CASE_METHOD(Fixture, "routes with one endpoint share a circuit that 429 and 4xx do not open",
                 "[llm][router][breaker]") {
  options.routes[1].endpoint = "one";
  options.breaker.failures = 2;
  options.retry.max_attempts = 1;
  make();
  for (int i = 0; i < 5; ++i) {
    first.script = {fails(busy(0ms))};
    second.script = {fails(bad_key)};
    heard = {};
    ask(heard);
    CHECK(idle());
  }
  CHECK_FALSE(router->is_circuit_open(0));
  first.script = {fails(cut)};
  second.script = {fails(cut)};
  heard = {};
  ask(heard);
  CHECK(idle());
  CHECK(router->is_circuit_open(0));
  CHECK(router->is_circuit_open(1));
}

TEST_CASE_METHOD(Fixture, "the earlier deadline applies and is passed on", "[llm][router][X21]") {
  options.retry.timeout = 10s;
  make();
  ChatRequest request = test::ask("a");
  router->chat(request, {}, heard.sink());
  CHECK(first.asked.at(0).deadline == clock.now() + 10s);
  request.agent_id = "b";
  request.deadline = clock.now() + 5s;
  router->chat(request, {}, other.sink());
  CHECK(first.asked.at(1).deadline == clock.now() + 5s);
  CHECK(idle());
  CHECK_FALSE(runtime->next_deadline());
}

TEST_CASE_METHOD(Fixture, "the deadline cuts an attempt whose client ignores it", "[llm][router][X21][G15]") {
  options.retry.timeout = 10s;
  make();
  first.script = {silence({"half"})};
  ask(heard);
  runtime->run_for(9999ms);
  CHECK_FALSE(heard.ended());
  runtime->run_for(2ms);
  CHECK(heard.failed_with(Errc::deadline_exceeded));
  CHECK(heard.text() == "half");
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "an answer that another thread has posted counts although the loop is late",
                 "[llm][router][X21][late]") {
  // Keeps the sink of its call; other threads post the answer.
  struct PostingClient final : LlmClient {
    void chat(ChatRequest, StopToken token, ChatSink to) override {
      stop = std::move(token);
      sink = std::make_shared<ChatSink>(std::move(to));
    }
    bool abort(std::string_view) override { return false; }
    bool has_active_request(std::string_view) const override { return false; }
    StopToken stop;
    std::shared_ptr<ChatSink> sink;
  } client;
  options.routes = {{.client = &client, .model = "m", .endpoint = "one"}};
  options.retry.timeout = 500ms;
  make();
  ask(heard);
  polls();
  const auto post = [&](std::function<void(ChatSink&)> what) {
    std::thread([&, what = std::move(what)] {
      runtime->post([what, sink = client.sink] { what(*sink); });
    }).join();
  };
  const auto finish = [](ChatSink& sink) { sink.finish(ChatOutcome::completed(FinishReason::complete)); };
  SECTION("before its time-out") {
    clock.advance(50ms);
    post([](ChatSink& sink) { sink.delta("in time"); });
    post(finish);
    clock.advance(861ms);  // something has kept the loop
    runtime->poll();
    CHECK(heard.completed());
    CHECK(heard.text() == "in time");
    CHECK_FALSE(client.stop.stop_requested());
  }
  SECTION("a part of it does not make the rest be waited for") {
    post([](ChatSink& sink) { sink.delta("a part"); });
    clock.advance(911ms);
    runtime->poll();
    CHECK(client.stop.stop_requested());
    post(finish);
    polls();
    CHECK(heard.failed_with(Errc::deadline_exceeded));
    CHECK(heard.text() == "a part");
  }
  SECTION("a failure is not tried again") {
    post([](ChatSink& sink) { sink.finish(ChatOutcome::failed(cut)); });
    clock.advance(911ms);
    runtime->poll();
    CHECK(heard.failed_with(Errc::deadline_exceeded));
  }
  SECTION("a stop comes before it") {
    ChatRecord stopped;
    ask(stopped, "b", stop.get_token());
    polls();
    post([](ChatSink& sink) { sink.delta("in time"); });
    post(finish);
    clock.advance(911ms);
    stop.request_stop();
    polls();
    CHECK(stopped.cancelled());
    CHECK(stopped.text().empty());
    router->abort("a");
    return;
  }
  CHECK(idle());
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "the deadline ends a wait for a slot", "[llm][router][X21][Y5]") {
  options.limits.total = 1;
  make();
  first.script = {silence()};
  ask(other, "b");
  ChatRequest request = test::ask("a");
  request.deadline = clock.now() + 3s;
  router->chat(request, {}, heard.sink());
  runtime->run_for(3s);
  CHECK(heard.failed_with(Errc::deadline_exceeded));
  CHECK(router->call_slots().waiting() == 0);
  CHECK_FALSE(other.ended());
}

TEST_CASE_METHOD(Fixture, "a back-off that would end after the deadline is not started",
                 "[llm][router][X21]") {
  options.retry.timeout = 2500ms;
  make_one();
  for (int i = 0; i < 3; ++i) first.script.push_back(fails(cut));
  options.retry.backoff = {};
  ask(heard);
  options.retry.max_attempts = 9;
  options.retry.backoff = [](std::uint32_t, const ChatError&) { return Duration(1s); };
  make_one();
  heard = {};
  first.at.clear();
  first.script.assign(9, fails(cut));
  const TimePoint begin = clock.now();
  ask(heard);
  runtime->run_for(2001ms);
  CHECK(first.at.size() == 3);
  REQUIRE(heard.failed_with(Errc::deadline_exceeded));
  CHECK(heard.error().message == "The call's deadline passed; its last attempt had failed: cut (3 attempts)");
  CHECK(clock.now() - begin < 2500ms);
}

TEST_CASE_METHOD(Fixture, "the next route is tried if there is no time for a back-off",
                 "[llm][router][X21]") {
  options.retry.timeout = 500ms;
  make();
  first.script = {fails(cut)};
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "second");
}

TEST_CASE_METHOD(Fixture, "a passed deadline starts no attempt", "[llm][router][X21]") {
  make();
  ChatRequest request = test::ask("a");
  request.deadline = clock.now();
  router->chat(request, {}, heard.sink());
  CHECK(heard.failed_with(Errc::deadline_exceeded));
  CHECK(first.asked.empty());
  CHECK_FALSE(router->has_active_request("a"));
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a stop takes effect before a deadline at the same time",
                 "[llm][router][X21][A8]") {
  options.retry.timeout = 1s;
  make();
  first.script = {silence()};
  ask(heard, "a", stop.get_token());
  polls();
  clock.advance(1s);
  stop.request_stop();
  CHECK(idle());
  CHECK(heard.cancelled());
}

TEST_CASE_METHOD(Fixture, "running calls are counted for each endpoint", "[llm][router][Y5]") {
  options.limits = {};
  make();
  first.script = {fails(unknown_model), silence(), silence()};
  second.script = {silence()};
  ask(heard, "a");
  polls();
  ask(other, "b");
  ChatRecord third;
  ask(third, "c");
  CHECK(router->call_slots().running() == 3);
  CHECK(router->call_slots().running("one") == 2);
  CHECK(router->call_slots().running("two") == 1);
  CHECK(router->call_slots().running("three") == 0);
}

TEST_CASE_METHOD(Fixture, "reasoning is the beginning of an answer, which closes a circuit",
                 "[llm][router][breaker]") {
  FakeClient model(*runtime);
  model.on_chat = [](FakeClient&, FakeClient::Call& call) {
    if (call.number == 0) FakeClient::finish(call, ChatOutcome::failed(cut));
  };
  options.routes = {{.client = &model}};
  options.breaker = {.failures = 1, .open_for = 30s};
  make();
  ask(heard, "a");
  CHECK(heard.failed_with(Errc::network_error));
  runtime->run_for(30s);
  ask(other, "b");
  CHECK(router->is_circuit_open(0));
  model.reason("b", "hm");
  CHECK_FALSE(router->is_circuit_open(0));
  model.answer("b", "x");
  CHECK(other.completed());
}

TEST_CASE_METHOD(Fixture, "routes without the name of an endpoint have a circuit for each client",
                 "[llm][router][breaker]") {
  options.routes = {{.client = first.client.get()},
                    {.client = second.client.get()},
                    {.client = first.client.get(), .model = "another"}};
  options.breaker.failures = 1;
  options.retry.max_attempts = 1;
  make();
  first.script = {fails(cut)};
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "second");
  CHECK(router->is_circuit_open(0));
  CHECK_FALSE(router->is_circuit_open(1));
  CHECK(router->is_circuit_open(2));  // the client of the first route
}

TEST_CASE_METHOD(Fixture, "an answer that comes after the deadline is not delivered",
                 "[llm][router][X21][G15]") {
  FakeClient model(*runtime);
  model.on_stop = OnStop::deaf;
  options.routes = {{.client = &model}};
  options.retry.timeout = 10s;
  make();
  ask(heard);
  model.delta("a", "in time");
  runtime->run_for(10s);
  CHECK(model.call(0).stop.stop_requested());
  CHECK_FALSE(heard.ended());
  model.answer("a", "late");
  CHECK(heard.failed_with(Errc::deadline_exceeded));
  CHECK(heard.text() == "in time");
}
