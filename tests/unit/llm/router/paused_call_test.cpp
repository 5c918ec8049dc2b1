// Calls whose agents are paused (ChatRequest::pause).
#include "support/clients/fake_pause.hpp"
#include "unit/llm/router/router_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;

namespace {

struct Fixture : RouterFixture {
  void ask_paused(ChatRecord& record, const std::string& agent = "a") {
    ChatRequest request = test::ask(agent);
    request.pause = PauseToken(pause);
    router->chat(std::move(request), stop.get_token(), record.sink(in_delta));
  }
  const std::shared_ptr<FakePause> pause = std::make_shared<FakePause>();
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a paused call makes no attempt until it is unpaused", "[llm][router][pause]") {
  make_one();
  pause->set(true);
  ask_paused(heard);
  polls();
  CHECK(first.asked.size() == 0);
  CHECK(router->call_slots().running() == 0);
  CHECK(router->call_slots().waiting() == 0);
  CHECK(pause->waits);
  pause->set(false);
  CHECK_FALSE(pause->waits);
  CHECK(idle());
  CHECK(heard.completed());
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "an attempt that runs goes on in a pause", "[llm][router][pause]") {
  make_one();
  ask_paused(heard);
  CHECK(first.asked.size() == 1);
  pause->set(true);
  CHECK_FALSE(pause->waits);
  CHECK(idle());
  CHECK(heard.completed());
}

TEST_CASE_METHOD(Fixture, "a paused call leaves the queue and keeps its place in it",
                 "[llm][router][pause]") {
  options.limits = {.total = 1};
  make_one();
  first.script = {silence()};
  ChatRecord holder, third;
  StopSource holds;
  ask(holder, "holder", holds.get_token());
  ask_paused(heard);
  ask(other, "b");
  CHECK(router->call_slots().waiting() == 2);
  SECTION("and others go before it") {
    pause->set(true);
    CHECK(router->call_slots().waiting() == 1);
    CHECK(pause->waits);
    holds.request_stop();
    polls(20);
    CHECK(other.completed());
    CHECK(heard.outcomes.empty());
    pause->set(false);
    CHECK(idle());
  }
  SECTION("and it is the next one again") {
    pause->set(true);
    pause->set(false);
    CHECK(router->call_slots().waiting() == 2);
    holds.request_stop();
    CHECK(idle());
    CHECK(first.asked.at(1).agent_id == "a");
    CHECK(first.asked.at(2).agent_id == "b");
  }
  SECTION("and it does not use a slot that it gets before it was told") {
    pause->set(true, false);
    holds.request_stop();
    polls(20);
    CHECK(heard.outcomes.empty());
    CHECK(pause->waits);
    CHECK(other.completed());
    pause->set(false);
    CHECK(idle());
  }
  CHECK(heard.completed());
  CHECK(other.completed());
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a back-off stands still in a pause", "[llm][router][pause]") {
  make_one();
  first.script = {fails(cut)};
  const bool before = GENERATE(true, false);  // the pause begins before the back-off
  if (before) {
    in_delta = [] {};
    first.on_asked = [&] { pause->set(true); };
  }
  ask_paused(heard);
  polls();
  CHECK(notices.size() == 1);
  if (!before) {
    clock.advance(400ms);
    polls();
    pause->set(true);
  }
  CHECK(pause->waits);
  clock.advance(10s);
  polls();
  CHECK(first.asked.size() == 1);
  first.on_asked = {};
  pause->set(false);
  CHECK_FALSE(pause->waits);
  polls();
  clock.advance(before ? 999ms : 599ms);
  polls();
  CHECK(first.asked.size() == 1);
  clock.advance(1ms);
  polls();
  CHECK(first.asked.size() == 2);
  CHECK(idle());
  CHECK(heard.completed());
}

TEST_CASE_METHOD(Fixture, "a paused call does not go to another route", "[llm][router][pause]") {
  make();
  first.script = {fails(unknown_model)};
  first.on_asked = [&] { pause->set(true); };
  ask_paused(heard);
  polls();
  CHECK(first.asked.size() == 1);
  CHECK(second.asked.size() == 0);
  CHECK(pause->waits);
  pause->set(false);
  CHECK(idle());
  CHECK(second.asked.size() == 1);
  CHECK(heard.completed());
}

TEST_CASE_METHOD(Fixture, "what ends a call goes through a pause at once", "[llm][router][pause][G5][G6]") {
  make_one();
  const bool backs_off = GENERATE(true, false);
  if (backs_off) {
    first.script = {fails(cut)};
    ask_paused(heard);
    polls();
    pause->set(true);
  } else {
    pause->set(true);
    ChatRequest request = test::ask("a");
    request.pause = PauseToken(pause);
    request.deadline = runtime->now() + 5s;
    router->chat(std::move(request), stop.get_token(), heard.sink(in_delta));
  }
  const std::size_t asked = first.asked.size();
  SECTION("its stop token") {
    stop.request_stop();
    polls();
    CHECK(heard.outcomes.at(0).kind == ChatOutcome::Kind::cancelled);
  }
  SECTION("an abort") {
    CHECK(router->abort("a"));
    polls();
    CHECK(heard.outcomes.at(0).kind == ChatOutcome::Kind::cancelled);
  }
  SECTION("its deadline") {
    if (!backs_off) {
      clock.advance(5s);
      polls();
      CHECK(heard.outcomes.at(0).error.code == Errc::deadline_exceeded);
    } else {
      stop.request_stop();
      polls();
    }
  }
  SECTION("the end of the router") {
    router.reset();
    CHECK(heard.outcomes.at(0).kind == ChatOutcome::Kind::cancelled);
  }
  pause->set(false);
  polls();
  CHECK(heard.outcomes.size() == 1);
  CHECK(first.asked.size() == asked);
  if (router) CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a router passes the pause on to its routes", "[llm][router][pause]") {
  make_one();
  ask_paused(heard);
  pause->set(true);
  CHECK(first.asked.at(0).pause.is_paused());
  CHECK(idle());
}
