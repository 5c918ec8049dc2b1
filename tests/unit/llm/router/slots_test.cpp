// The order in which calls get slots.
#include "llm/router/slots.hpp"

#include "loop/engine.hpp"
#include "support/catch.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::llm;
using namespace std::chrono_literals;
using Names = std::vector<std::string>;
using Admission = Slots::Admission;

namespace {

struct Fixture {
  // A call that notes when it gets its slot, and keeps it.
  struct Call final : Waiter {
    Call(Fixture& owner, std::string id, std::uint64_t number = 0)
        : fixture(owner), agent(std::move(id)), tree(number) {}
    void on_slot(Slot given) override { take(std::move(given)); }
    void on_pause_too_long() override { fixture.left_alone.push_back(agent); }
    void take(Slot given) {
      slot = std::move(given);
      fixture.order.push_back(agent);
      if (then) then();
    }
    Fixture& fixture;
    const std::string agent;
    const std::uint64_t tree;
    Slot slot;
    std::function<void()> then;
  };

  void use(CallLimits limits) { slots = std::make_shared<Slots>(detail::loop::engine_of(*runtime), limits); }
  std::shared_ptr<Call> call(const std::string& agent) { return std::make_shared<Call>(*this, agent); }
  Admission acquire(Call& call, const std::string& endpoint = "e", std::uint64_t tokens = 0,
                    Duration max_wait = 1min) {
    Slot slot;
    const Admission answer = slots->acquire(call,
                                            {.endpoint = slots->endpoint(endpoint),
                                             .caller = {call.agent, call.tree},
                                             .tokens = tokens,
                                             .max_wait = max_wait},
                                            slot);
    if (answer == Admission::now) call.take(std::move(slot));
    return answer;
  }
  std::shared_ptr<Call> start(const std::string& agent, const std::string& endpoint = "e",
                              std::uint64_t tokens = 0) {
    auto made = call(agent);
    acquire(*made, endpoint, tokens);
    return made;
  }
  void end(Call& call, const ChatOutcome& outcome = ChatOutcome::completed(FinishReason::complete)) {
    call.slot.end(outcome);
    poll();
  }
  void poll() {
    runtime->poll();
    runtime->poll();
  }

  testing::ManualClock clock;
  std::unique_ptr<Runtime> runtime = std::make_unique<Runtime>(RuntimeOptions{.clock = &clock, .seed = 1});
  std::shared_ptr<Slots> slots;
  Names order, left_alone;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "calls beyond the limit wait in the order of arrival", "[llm][router][slots][Y5]") {
  use({.total = 3});
  std::vector<std::shared_ptr<Call>> calls;
  for (const char* agent : {"a", "b", "c", "d", "e", "f"}) calls.push_back(start(agent));
  CHECK(order == Names{"a", "b", "c"});
  CHECK(slots->running() == 3);
  CHECK(slots->running("e") == 3);
  CHECK(slots->waiting() == 3);
  end(*calls[1]);
  CHECK(order.back() == "d");
  end(*calls[0]);
  end(*calls[2]);
  CHECK(order == Names{"a", "b", "c", "d", "e", "f"});
  for (const auto& call : calls) end(*call);
  CHECK(slots->running() == 0);
  CHECK(slots->waiting() == 0);
}

TEST_CASE_METHOD(Fixture, "a call whose endpoint is at its limit blocks no other",
                 "[llm][router][slots][Y5]") {
  use({.total = 3, .per_endpoint = 1});
  const auto a = start("a", "x"), b = start("b", "x"), c = start("c", "y"), d = start("d", "y");
  CHECK(order == Names{"a", "c"});
  end(*c);
  CHECK(order == Names{"a", "c", "d"});
  end(*a);
  CHECK(order == Names{"a", "c", "d", "b"});
}

TEST_CASE_METHOD(Fixture, "a call whose agent is at its limit blocks no other", "[llm][router][slots][Y5]") {
  use({.total = 2, .per_agent = 1});
  const auto a1 = start("a"), a2 = start("a"), a3 = start("a"), b = start("b"), c = start("c");
  CHECK(order == Names{"a", "b"});
  end(*b);
  CHECK(order == Names{"a", "b", "c"});
  end(*a1);
  CHECK(order == Names{"a", "b", "c", "a"});
  CHECK(slots->waiting() == 1);
  end(*a2);
  CHECK(order.size() == 5);
}

TEST_CASE_METHOD(Fixture, "a call that waits for a busy endpoint moves to a free one",
                 "[llm][router][slots]") {
  use({.total = 3, .per_endpoint = 1, .per_agent = 1});
  const auto other = start("o", "x"), first = start("a", "x"), second = start("a", "y");
  CHECK(order == Names{"o", "a"});
  CHECK(slots->running("y") == 1);
  end(*other);  // x is free, but the agent has its one call
  CHECK(order.size() == 2);
  end(*second);
  CHECK(order.size() == 3);
  CHECK(slots->running("x") == 1);
}

TEST_CASE_METHOD(Fixture, "anonymous calls are not counted as one agent", "[llm][router][slots][A4]") {
  use({.total = no_limit, .per_agent = 1});
  const auto a = start(""), b = start(""), c = start("");
  CHECK(order.size() == 3);
}

TEST_CASE_METHOD(Fixture, "without limits no call waits", "[llm][router][slots]") {
  use({.total = no_limit, .per_agent = no_limit, .max_waiting = no_limit});
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(start("a"));
  CHECK(order.size() == 100);
}

TEST_CASE_METHOD(Fixture, "a limit of 0 counts as 1", "[llm][router][slots]") {
  SECTION("of concurrent calls") {
    use({.total = 0});
    const auto a = start("a"), b = start("b");
    CHECK(order == Names{"a"});
    end(*a);
    CHECK(order == Names{"a", "b"});
  }
  SECTION("of requests per minute") {
    use({.requests_per_minute = 0});
    const auto a = start("a"), b = start("b");
    CHECK(order == Names{"a"});
  }
}

TEST_CASE_METHOD(Fixture, "no call waits if none may", "[llm][router][slots]") {
  use({.total = 1, .max_waiting = 0});
  const auto a = start("a"), b = start("b");
  CHECK(order == Names{"a"});
  CHECK(slots->waiting() == 0);
}

TEST_CASE_METHOD(Fixture, "a cancelled slot request leaves at once and the next moves up",
                 "[llm][router][slots][G5]") {
  use({.total = 1});
  const auto a = start("a"), b = start("b"), c = start("c");
  slots->leave(*b);
  CHECK(slots->waiting() == 1);
  slots->leave(*b);
  slots->leave(*a);
  CHECK(slots->waiting() == 1);
  end(*a);
  CHECK(order == Names{"a", "c"});
}

TEST_CASE_METHOD(Fixture, "a call behind a cancelled one starts at once if it has a slot",
                 "[llm][router][slots][G5]") {
  use({.total = no_limit, .tokens_per_minute = 100});
  const auto first = start("first", "e", 60), large = start("large", "e", 90),
             small = start("small", "e", 10);
  poll();
  CHECK(order == Names{"first"});  // no call overtakes the large one
  slots->leave(*large);
  poll();
  CHECK(order == Names{"first", "small"});
  CHECK(slots->waiting() == 0);
}

TEST_CASE_METHOD(Fixture, "a call that queues again keeps its place and is not refused",
                 "[llm][router][slots]") {
  use({.total = 1, .max_waiting = 2});
  const auto a = start("a"), b = start("b"), c = start("c"), d = call("d");
  CHECK(acquire(*d) == Admission::full);
  CHECK(slots->waiting() == 2);
  a->slot.end(ChatOutcome::cancelled());
  CHECK(acquire(*a) == Admission::now);
  a->slot.undo();
  poll();
  CHECK(order == Names{"a", "a", "b"});
  CHECK(acquire(*a) == Admission::later);
  end(*b);
  CHECK(order == Names{"a", "a", "b", "a"});
}

TEST_CASE_METHOD(Fixture, "a full queue refuses only calls that would have to wait",
                 "[llm][router][slots][G15]") {
  use({.total = no_limit, .per_endpoint = 1, .max_waiting = 1});
  const auto a = start("a", "x"), b = start("b", "x"), c = call("c"), d = call("d");
  CHECK(acquire(*c, "x") == Admission::full);
  CHECK(acquire(*d, "y") == Admission::now);
}

TEST_CASE_METHOD(Fixture, "the queue continues when requests per minute allow it", "[llm][router][slots]") {
  use({.total = no_limit, .requests_per_minute = 2});
  const auto a = start("a", "x"), b = start("b", "x"), c = start("c", "x"), d = start("d", "y");
  CHECK(order == Names{"a", "b", "d"});
  runtime->run_for(30s - 1ms);
  CHECK(order.size() == 3);
  runtime->run_for(2ms);
  CHECK(order == Names{"a", "b", "d", "c"});
}

TEST_CASE_METHOD(Fixture, "an estimate of tokens per minute is corrected by the usage",
                 "[llm][router][slots]") {
  use({.total = no_limit, .tokens_per_minute = 100});
  const auto a = start("a", "e", 90), b = start("b", "e", 60);
  CHECK(order == Names{"a"});
  end(*a, ChatOutcome::completed(FinishReason::complete, {.total_tokens = 40}));
  CHECK(order == Names{"a", "b"});
}

TEST_CASE_METHOD(Fixture, "a large call is not overtaken by small ones without end", "[llm][router][slots]") {
  use({.total = no_limit, .tokens_per_minute = 60});
  const auto a = start("a", "e", 60), large = start("large", "e", 60), small = start("small", "e", 1);
  runtime->run_for(30s);
  CHECK(order == Names{"a"});
  runtime->run_for(30s);
  CHECK(order == Names{"a", "large"});
  runtime->run_for(1s);
  CHECK(order == Names{"a", "large", "small"});
}

TEST_CASE_METHOD(Fixture, "an endpoint may have its own limits which may change", "[llm][router][slots]") {
  use({.total = no_limit});
  slots->set_endpoint("x", {.calls = 1});
  const auto a = start("a", "x"), b = start("b", "x"), c = start("c", "y"), d = start("d", "y");
  CHECK(order == Names{"a", "c", "d"});
  slots->set_endpoint("x", {.calls = 2});
  poll();
  CHECK(order.back() == "b");
}

TEST_CASE_METHOD(Fixture, "Retry-After pauses the whole queue of an endpoint", "[llm][router][slots][X19]") {
  use({.total = no_limit, .per_agent = no_limit});
  const auto a = start("a");
  const ChatError busy{.code = Errc::api_error,
                       .message = "x",
                       .http_status = GENERATE(429, 503),
                       .retryable = true,
                       .retry_after = 10s};
  end(*a, ChatOutcome::failed(busy));
  const auto b = start("b"), c = start("c", "other");
  CHECK(order == Names{"a", "c"});
  CHECK(slots->pause_left(*slots->endpoint("e")) == 10s);
  runtime->run_for(10s);
  CHECK(order == Names{"a", "c", "b"});
}

TEST_CASE_METHOD(Fixture, "a queue follows the reported remainder unless disabled", "[llm][router][slots]") {
  const bool learn = GENERATE(true, false);
  use({.total = no_limit, .learn = learn});
  const auto a = start("a");
  a->slot.learn({.requests_left = 0, .requests_reset = 5s});
  const auto b = start("b");
  CHECK(order.size() == (learn ? 1U : 2U));
  runtime->run_for(5s);
  CHECK(order == Names{"a", "b"});
}

TEST_CASE_METHOD(Fixture, "a call that may not wait for as long as an endpoint asks leaves the queue",
                 "[llm][router][slots]") {
  use({.total = 1});
  const auto a = start("a"), b = call("b"), c = call("c");
  acquire(*b, "e", 0, 5s);
  acquire(*c, "e", 0, 20s);
  a->slot.learn({.requests_left = 0, .requests_reset = 10s});
  poll();
  CHECK(left_alone == Names{"b"});
  CHECK(slots->waiting() == 1);
  end(*a);
  runtime->run_for(10s);
  CHECK(order == Names{"a", "c"});
}

TEST_CASE_METHOD(Fixture, "a call that comes during a pause that is too long leaves the queue, too",
                 "[llm][router][slots][X19]") {
  use({.total = no_limit});
  const auto a = start("a"), b = call("b");
  const ChatError busy{
      .code = Errc::api_error, .message = "x", .http_status = 429, .retryable = true, .retry_after = 10min};
  end(*a, ChatOutcome::failed(busy));
  CHECK(acquire(*b, "e", 0, 1min) == Admission::later);
  CHECK(left_alone.empty());  // not from within acquire()
  poll();
  CHECK(left_alone == Names{"b"});
  CHECK(slots->waiting() == 0);
}

TEST_CASE_METHOD(Fixture, "a call too large for the remainder is notified and a smaller one starts",
                 "[llm][router][slots]") {
  use({.total = 1});
  const auto a = start("a"), large = call("large"), small = call("small");
  acquire(*large, "e", 500, 5s);
  acquire(*small, "e", 10, 5s);
  a->slot.learn({.tokens_left = 100, .tokens_reset = 10s});
  poll();
  CHECK(left_alone == Names{"large"});
  end(*a);
  CHECK(order == Names{"a", "small"});
}

TEST_CASE_METHOD(Fixture, "an empty queue keeps no timer", "[llm][router][slots][G13]") {
  use({.total = no_limit, .requests_per_minute = 1});
  const auto a = start("a"), b = start("b");
  CHECK(runtime->next_deadline());
  slots->leave(*b);
  poll();
  CHECK_FALSE(runtime->next_deadline());
}

TEST_CASE_METHOD(Fixture, "unnamed endpoints belong to one client and are removed with it",
                 "[llm][router][slots][G13]") {
  use({.total = 3, .per_agent = 1});
  const testing::ScriptedClient one(*runtime), two(*runtime);
  auto x = slots->endpoint_of(&one), y = slots->endpoint_of(&two);
  CHECK(x != y);
  CHECK(slots->endpoint_of(&one) == x);
  const std::weak_ptr<Endpoint> gone = x;
  x.reset();
  CHECK(gone.expired());
}

TEST_CASE_METHOD(Fixture, "a callback that gets a slot may free it or cancel others or end the Runtime",
                 "[llm][router][slots][Q3]") {
  use({.total = 1});
  const auto a = start("a"), b = start("b"), c = start("c"), d = start("d"), e = start("e");
  b->then = [&] {
    b->slot.undo();
    slots->leave(*c);
  };
  d->then = [&] {
    d->slot.undo();
    runtime.reset();
  };
  a->slot.end(ChatOutcome::cancelled());
  const auto engine = detail::loop::engine_of(*runtime);
  for (int i = 0; i < 4 && runtime; ++i) runtime->poll();
  CHECK(order == Names{"a", "b", "d"});
  CHECK(slots->running() == 0);
}

TEST_CASE_METHOD(Fixture, "10000 waiting calls are served in linear time", "[llm][router][slots][Y5]") {
  constexpr int count = 10'000;
  const bool one_agent = GENERATE(false, true);
  use({.total = 2, .per_agent = 1, .max_waiting = count});
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < count; ++i) {
    const bool same = one_agent && i % 2 == 0;
    calls.push_back(start(same ? "busy" : "agent " + std::to_string(i), i % 3 ? "x" : "y"));
  }
  std::size_t next = 0;
  std::vector<Call*> running;
  for (const auto& call : calls) call->then = [&running, each = call.get()] { running.push_back(each); };
  running = {calls[0].get(), calls[1].get()};
  while (next < running.size()) {
    running[next++]->slot.end(ChatOutcome::cancelled());
    runtime->poll();
  }
  CHECK(running.size() == count);
  CHECK(order.size() == count);
  CHECK(slots->waiting() == 0);
  if (!one_agent) CHECK(order.back() == "agent " + std::to_string(count - 1));
}

TEST_CASE_METHOD(Fixture, "10000 waiting calls can leave in any order", "[llm][router][slots][G5]") {
  constexpr int count = 10'000;
  use({.total = 1, .max_waiting = count});
  const auto first = start("first");
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < count; ++i) calls.push_back(start("agent " + std::to_string(i % 100)));
  CHECK(slots->waiting() == count);
  for (std::size_t i = 0; i < count; ++i) slots->leave(*calls[i * 7919 % count]);
  CHECK(slots->waiting() == 0);
  end(*first);
  CHECK(order == Names{"first"});
}

TEST_CASE_METHOD(Fixture, "agents of the same id in two trees have slots of their own",
                 "[llm][router][slots][G15]") {
  use({.total = no_limit, .per_agent = 1});
  const auto one = std::make_shared<Call>(*this, "a", 1), two = std::make_shared<Call>(*this, "a", 2);
  const auto again = std::make_shared<Call>(*this, "a", 1);
  CHECK(acquire(*one) == Admission::now);
  CHECK(acquire(*two) == Admission::now);
  CHECK(acquire(*again) == Admission::later);
  end(*two);
  CHECK(slots->waiting() == 1);
  end(*one);
  CHECK(order == Names{"a", "a", "a"});
  CHECK(slots->waiting() == 0);
}

TEST_CASE_METHOD(Fixture, "a reported remainder includes the answered call, whether that call waited or not",
                 "[llm][router][slots]") {
  use({.total = 1, .per_agent = no_limit});
  const bool waited = GENERATE(false, true);
  const auto before = start("before"), a = call("a");
  if (!waited) end(*before);
  acquire(*a);
  if (waited) end(*before);
  REQUIRE(order == Names{"before", "a"});
  a->slot.learn({.requests_left = 1, .requests_reset = 5s});
  end(*a);
  const auto b = start("b");
  CHECK(order.back() == "b");
  end(*b);
  const auto c = start("c");
  CHECK(order.back() == "b");
  runtime->run_for(5s);
  CHECK(order.back() == "c");
}

TEST_CASE_METHOD(Fixture, "the queue continues at the earliest time at which a call may run",
                 "[llm][router][slots]") {
  use({.total = no_limit, .per_agent = no_limit});
  slots->set_endpoint("slow", {.requests_per_minute = 1});
  slots->set_endpoint("quick", {.requests_per_minute = 2});
  const auto a = start("a", "slow"), b = start("b", "slow");  // b waits for a minute
  const auto c = start("c", "quick"), d = start("d", "quick"), e = start("e", "quick");
  CHECK(order == Names{"a", "c", "d"});
  runtime->run_for(30s);
  CHECK(order == Names{"a", "c", "d", "e"});
  runtime->run_for(30s);
  CHECK(order == Names{"a", "c", "d", "e", "b"});
}

TEST_CASE_METHOD(Fixture,
                 "of the first calls of two endpoints the older one runs, whichever endpoint waits longer",
                 "[llm][router][slots]") {
  use({.total = 1});
  const auto a = start("a", "x"), b = start("b", "y"), c = start("c", "z");
  slots->leave(*b);
  CHECK(acquire(*b, "y") == Admission::later);  // it keeps its place
  end(*a);
  CHECK(order == Names{"a", "b"});
  end(*b);
  CHECK(order == Names{"a", "b", "c"});
}

TEST_CASE_METHOD(Fixture, "a call that comes too large for the remainder leaves the queue, too",
                 "[llm][router][slots][X19]") {
  use({.total = no_limit, .per_agent = no_limit});
  const auto a = start("a"), large = call("large");
  a->slot.learn({.tokens_left = 100, .tokens_reset = 10min});
  CHECK(acquire(*large, "e", 500, 1min) == Admission::later);
  poll();
  CHECK(left_alone == Names{"large"});
  CHECK(slots->waiting() == 0);
}
