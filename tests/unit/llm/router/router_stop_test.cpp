// A stop, whatever the call is at.
#include "loop/engine.hpp"
#include "unit/llm/router/router_fixture.hpp"

#include <agentcore/testing/scripted_client.hpp>

#include <thread>

using namespace agentcore;
using namespace agentcore::test;
using Fixture = RouterFixture;

namespace {

// A clock that the host looks at, too: `look` is what it does then.
class WatchedClock final : public Clock {
 public:
  TimePoint now() const noexcept override {
    if (look) look();
    return TimePoint(1s);
  }
  bool runs_by_itself() const noexcept override { return false; }
  std::function<void()> look;
};

// Both ways to stop a call: its token, and abort().
enum class How { token, abort };
void stop_it(Fixture& f, How how) {
  if (how == How::token) {
    CHECK(f.stop.request_stop());
  } else {
    CHECK(f.router->abort("a"));
  }
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a stop in a silent attempt cuts it on the stopping thread",
                 "[llm][router][A5][A7][A8][A9][G5]") {
  const How how = GENERATE(How::token, How::abort);
  const bool foreign = GENERATE(false, true);
  first.script = {silence()};
  make();
  ask(heard, "a", stop.get_token());
  polls();
  const auto act = [&] {
    stop_it(*this, how);
    CHECK_FALSE(router->has_active_request("a"));
    CHECK_FALSE(first.client->has_active_request("a"));  // before the loop does anything
  };
  if (foreign) {
    std::thread(act).join();
  } else {
    act();
  }
  CHECK_FALSE(heard.ended());
  CHECK(router->call_slots().running() == 1);  // until the attempt has ended
  polls();
  CHECK(heard.cancelled());
  CHECK(heard.error().code == Errc::cancelled);
  CHECK(all_free());
  CHECK_FALSE(router->abort("a"));
  runtime->run_for(1h);
  CHECK(first.asked.size() == 1);
  CHECK(second.asked.empty());
  CHECK(notices.empty());
}

TEST_CASE_METHOD(Fixture, "a stop in a stream lets no delta and no retry follow",
                 "[llm][router][A9][G5][G7]") {
  const How how = GENERATE(How::token, How::abort);
  first.script = {words({"one", "two", "three"})};
  make();
  ask(heard, "a", stop.get_token());
  runtime->poll();
  CHECK(heard.text() == "one");
  stop_it(*this, how);
  CHECK(idle());
  CHECK(heard.text() == "one");
  CHECK(heard.cancelled());
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a stop in a back-off ends it in the next poll", "[llm][router][A9][G5][O8]") {
  const How how = GENERATE(How::token, How::abort);
  const bool foreign = GENERATE(false, true);
  first.script = {fails(cut)};
  options.retry.backoff = [](std::uint32_t, const ChatError&) { return Duration(1h); };
  make();
  ask(heard, "a", stop.get_token());
  polls();
  REQUIRE(notices.size() == 1);
  CHECK(router->call_slots().running() == 0);  // a back-off holds no slot
  if (foreign) {
    std::thread([&] { stop_it(*this, how); }).join();
  } else {
    stop_it(*this, how);
  }
  CHECK_FALSE(router->has_active_request("a"));
  runtime->poll();
  CHECK(heard.cancelled());
  CHECK_FALSE(runtime->next_deadline());  // its timer is cancelled
  runtime->run_for(2h);
  CHECK(first.asked.size() == 1);
  CHECK(second.asked.empty());
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a stop in the queue for a slot ends the wait in the next poll",
                 "[llm][router][Y5][A9][G5]") {
  const How how = GENERATE(How::token, How::abort);
  const bool foreign = GENERATE(false, true);
  options.limits.total = 1;
  first.script = {silence()};
  make();
  ask(other, "b");
  ask(heard, "a", stop.get_token());
  polls();
  CHECK(router->call_slots().waiting() == 1);
  if (foreign) {
    std::thread([&] { stop_it(*this, how); }).join();
  } else {
    stop_it(*this, how);
  }
  CHECK_FALSE(router->has_active_request("a"));
  runtime->poll();
  CHECK(heard.cancelled());
  CHECK(router->call_slots().waiting() == 0);
  CHECK(router->call_slots().running() == 1);
  router->abort("b");
  CHECK(idle());
  CHECK(first.asked.size() == 1);
}

TEST_CASE_METHOD(Fixture, "no attempt follows a stop just after a slot was freed", "[llm][router][A9]") {
  options.limits.total = 1;
  first.script = {words({})};
  make();
  router->chat(test::ask("b"), {}, ChatSink({}, [&](const ChatOutcome&) { stop.request_stop(); }));
  ask(heard, "a", stop.get_token());
  first.on_asked = [&] { FAIL_CHECK("an attempt after the stop"); };
  CHECK(idle());
  CHECK(heard.cancelled());
  CHECK(first.asked.size() == 1);
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "no attempt follows a stop at the time of the next attempt", "[llm][router][A9]") {
  first.script = {fails(cut)};
  make_one();
  ask(heard, "a", stop.get_token());
  polls();
  clock.advance(1s);  // the timer is due; timers run before what is posted
  stop.request_stop();
  CHECK(idle());
  CHECK(heard.cancelled());
  CHECK(first.asked.size() == 1);
}

TEST_CASE_METHOD(Fixture, "a stop takes effect before a ready outcome", "[llm][router][C13][A9]") {
  const bool fail = GENERATE(false, true);
  testing::ScriptedReply reply = silence({}, true);
  reply.silent = false;
  if (fail) reply.error = cut;
  reply.usage = {.prompt_tokens = 1, .total_tokens = 1};
  first.script = {reply};
  make();
  ask(heard, "a", stop.get_token());
  stop.request_stop();
  CHECK(idle());
  CHECK(heard.cancelled());
  CHECK(heard.outcomes[0].usage.total_tokens == 1);
  CHECK(first.asked.size() == 1);
  CHECK(second.asked.empty());
}

TEST_CASE_METHOD(Fixture, "a call whose token is stopped already is not routed", "[llm][router][A9]") {
  make();
  stop.request_stop();
  ask(heard, "a", stop.get_token());
  CHECK(heard.cancelled());
  CHECK(first.asked.empty());
  CHECK_FALSE(router->has_active_request("a"));
}

TEST_CASE("a call stopped during its start is cancelled and not counted", "[llm][router][A8][A9]") {
  ChatRecord running, waiting, heard;  // before the router, which ends what is open when it goes
  WatchedClock watched;
  Runtime runtime({.clock = &watched, .seed = 1});
  testing::ScriptedClient model(runtime, [](const ChatRequest&) { return silence(); });
  RouterOptions options;
  options.routes = {{.client = &model}};
  const bool has_room = GENERATE(true, false);
  options.limits = {.total = 1, .max_waiting = has_room ? 2U : 1U};
  LlmRouter router(runtime, options);
  router.chat(ask("running"), {}, running.sink());
  router.chat(ask("waiting"), {}, waiting.sink());
  StopSource stop;
  watched.look = [&] {
    if (has_room) stop.request_stop();                                       // before it listens to its token
    if (!has_room && router.call_slots().waiting() == 2) router.abort("a");  // while it is refused
  };
  router.chat(ask("a"), stop.get_token(), heard.sink());
  watched.look = {};
  CHECK(heard.cancelled());
  CHECK_FALSE(router.has_active_request("a"));
  runtime.poll();
  CHECK_FALSE(waiting.ended());
}

TEST_CASE_METHOD(Fixture, "a log sink may destroy the router before it reads what its circuit did",
                 "[llm][router][breaker][Q3]") {
  const std::string endpoint = "an endpoint whose name is too long to be kept in place";
  options.routes[0].endpoint = endpoint;
  options.breaker.failures = 1;
  make_one();
  first.script = {fails(cut)};
  before_log = [&] { router.reset(); };
  ask(heard);
  polls();
  CHECK(heard.cancelled());
  CHECK(logged("warning an endpoint's circuit opened agent=a route=0 endpoint=" + endpoint));
}

TEST_CASE_METHOD(Fixture, "a call that a client cancels is not retried", "[llm][router][A9][X19]") {
  first.script = {silence()};
  make();
  ask(heard);
  polls();
  CHECK(first.client->abort("a"));
  CHECK(idle());
  CHECK(heard.cancelled());
  CHECK(second.asked.empty());
  CHECK_FALSE(router->has_active_request("a"));
}

TEST_CASE_METHOD(Fixture, "a second call of an agent is refused in every phase of the first",
                 "[llm][router][A1][A2][Y5]") {
  first.script = {fails(cut), silence()};
  make_one();
  first.on_asked = [&] { CHECK(router->has_active_request("a")); };
  ask(heard);
  for (int i = 0; i < 2; ++i) {
    ChatRecord refused;
    ask(refused);
    CHECK(refused.failed_with(Errc::request_in_progress));
    polls();  // into the back-off
  }
  CHECK_FALSE(heard.ended());
}

TEST_CASE_METHOD(Fixture, "a routed call may be aborted and repeated and aborted again in one tick",
                 "[llm][router][X11][A3][A6]") {
  first.script = {silence(), silence()};
  make();
  ask(heard);
  CHECK(router->abort("a"));
  ask(other);
  CHECK(router->has_active_request("a"));
  polls();
  CHECK(heard.cancelled());
  CHECK_FALSE(other.ended());
  CHECK(router->has_active_request("a"));
  CHECK(first.asked.size() == 2);
  CHECK(router->abort("a"));
  CHECK_FALSE(router->abort("a"));
  polls();
  CHECK(other.cancelled());
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a call that ignores its stop keeps its slot and its deltas are dropped",
                 "[llm][router][G7][Y5]") {
  testing::ScriptedReply deaf = words({"la", "la"});
  deaf.deaf = true;
  deaf.first_delay = 10s;
  first.script = {deaf};
  options.limits.total = 1;
  make();
  ask(heard);
  CHECK(router->abort("a"));
  ask(other);
  runtime->run_for(9s);
  CHECK_FALSE(heard.ended());
  CHECK(router->call_slots().running() == 1);
  CHECK(router->call_slots().waiting() == 1);
  CHECK(idle());
  CHECK(heard.text().empty());
  CHECK(heard.cancelled());
  CHECK(other.completed());
}

TEST_CASE_METHOD(Fixture, "anonymous calls are stopped by their token alone", "[llm][router][A4]") {
  first.script = {silence(), silence()};
  make();
  ask(heard, "", stop.get_token());
  ask(other, "");
  polls();
  CHECK_FALSE(router->has_active_request(""));
  CHECK_FALSE(router->abort(""));
  stop.request_stop();
  polls();
  CHECK(heard.cancelled());
  CHECK_FALSE(other.ended());
}

TEST_CASE_METHOD(Fixture, "a client may end its call from within its stop callback", "[llm][router][Q3]") {
  const How how = GENERATE(How::token, How::abort);
  FakeClient hasty;
  hasty.on_stop = OnStop::at_once;
  options.routes = {{.client = &hasty}};
  make();
  ask(heard, "a", stop.get_token());
  stop_it(*this, how);
  CHECK(heard.cancelled());
  CHECK(all_free());
  polls();
  ask(other, "a");
  router.reset();
  CHECK(other.cancelled());
}

TEST_CASE_METHOD(Fixture, "a receiver may stop its own routed call from within a delta",
                 "[llm][router][Q3][G7]") {
  const How how = GENERATE(How::token, How::abort);
  first.script = {words({"one", "two"})};
  in_delta = [&] { stop_it(*this, how); };
  make();
  ask(heard, "a", stop.get_token());
  CHECK(idle());
  CHECK(heard.text() == "one");
  CHECK(heard.cancelled());
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "a receiver may destroy the router or the Runtime from within a delta",
                 "[llm][router][Q3]") {
  const bool all = GENERATE(false, true);
  first.script = {words({"one", "two"}), silence(), silence(), silence()};
  options.limits.total = 2;
  in_delta = [&] {
    router.reset();
    if (all) runtime.reset();
  };
  make();
  ask(heard, "a");
  ask(other, "b");
  ChatRecord waits;
  ask(waits, "c");
  const auto engine = detail::loop::engine_of(*runtime);
  polls();
  CHECK(heard.text() == "one");
  CHECK(heard.cancelled());
  CHECK(other.cancelled());
  CHECK(waits.cancelled());
  CHECK(first.asked.size() == 2);
}

TEST_CASE_METHOD(Fixture, "an outcome callback may start the next call or destroy everything",
                 "[llm][router][Q3][A3]") {
  const bool destroy = GENERATE(false, true);
  first.script = {words({}), words({"next"})};
  make();
  router->chat(test::ask("a"), {}, ChatSink({}, [&](const ChatOutcome&) {
                 CHECK_FALSE(router->has_active_request("a"));
                 CHECK(router->call_slots().running() == 0);
                 if (!destroy) return ask(other);
                 router.reset();
                 runtime.reset();
               }));
  const auto engine = detail::loop::engine_of(*runtime);
  polls();
  if (destroy) {
    CHECK_FALSE(router);
  } else {
    CHECK(idle());
    CHECK(other.text() == "next");
  }
}

TEST_CASE_METHOD(Fixture, "every callback of the router may stop the call", "[llm][router][A9][Q3]") {
  enum class Where { backoff, notice, logged, asked };
  const Where where = GENERATE(Where::backoff, Where::notice, Where::logged, Where::asked);
  const bool to_next = GENERATE(false, true);
  int calls = 0;
  const auto act = [&] {
    if (calls++ == 0) CHECK(router->abort("a"));
  };
  first.script = {fails(to_next ? unknown_model : cut)};
  if (where == Where::backoff) {
    options.retry.backoff = [&](std::uint32_t, const ChatError&) {
      act();
      return Duration(1s);
    };
    first.script = {fails(cut)};
  }
  if (where == Where::notice) on_notice = act;
  if (where == Where::logged) on_log = act;
  if (where == Where::asked) first.on_asked = act;
  make();
  ask(heard);
  CHECK(idle());
  CHECK(heard.cancelled());
  CHECK(first.asked.size() == 1);
  CHECK(second.asked.empty());
  CHECK(all_free());
}

TEST_CASE_METHOD(Fixture, "every callback of the router may destroy the router or the Runtime",
                 "[llm][router][Q3]") {
  enum class Where { backoff, notice, logged, asked };
  const Where where = GENERATE(Where::backoff, Where::notice, Where::logged, Where::asked);
  const bool all = GENERATE(false, true);
  const auto act = [&] {
    router.reset();
    if (all) runtime.reset();
  };
  first.script = {fails(cut)};
  if (where == Where::backoff)
    options.retry.backoff = [&](std::uint32_t, const ChatError&) {
      act();
      return Duration(1s);
    };
  if (where == Where::notice) on_notice = act;
  if (where == Where::logged) on_log = act;
  if (where == Where::asked) first.on_asked = act;
  make();
  const auto engine = detail::loop::engine_of(*runtime);
  ask(heard);
  if (router) ask(other, "b");
  polls();
  CHECK(heard.cancelled());
  CHECK_FALSE(router);
  CHECK(second.asked.empty());
}

TEST_CASE_METHOD(Fixture, "a throwing receiver ends its call and cuts the attempt",
                 "[llm][router][G16][Q6]") {
  first.script = {silence({"one", "two"})};
  in_delta = [] { throw 1; };
  make();
  ask(heard);
  CHECK(idle());
  CHECK(heard.text() == "one");
  CHECK(heard.failed_with(Errc::callback_failed));
  CHECK(all_free());
  CHECK_FALSE(router->has_active_request("a"));
}

TEST_CASE_METHOD(Fixture, "destroying the router cancels calls in every phase", "[llm][router]") {
  options.limits.total = 2;
  options.call_slots = std::make_shared<CallSlots>(*runtime, options.limits);
  first.script = {fails(cut), silence({}, true), silence()};
  make();
  ChatRecord backs_off, deaf, silent, waits;
  ask(backs_off, "a");
  polls();
  ask(deaf, "b");
  ask(silent, "c");
  ask(waits, "d");
  polls();
  CHECK(router->open_calls() == 4);
  router.reset();
  for (const ChatRecord* each : {&backs_off, &deaf, &silent, &waits}) CHECK(each->cancelled());
  for (const ChatRecord* cut_off : {&deaf, &silent}) CHECK_FALSE(cut_off->outcomes.at(0).usage.complete);
  CHECK(waits.outcomes.at(0).usage.complete);  // nothing was sent
  CHECK(options.call_slots->waiting() == 0);
  CHECK(options.call_slots->running() == 2);
  polls();
  CHECK(options.call_slots->running() == 1);  // of the model that ignores its stop
  CHECK(first.asked.size() == 3);
  first.client.reset();
  CHECK(options.call_slots->running() == 0);
}

TEST_CASE_METHOD(Fixture, "a runtime that goes first leaves the router inert", "[llm][router]") {
  first.script = {fails(cut), silence()};
  make();
  ask(heard, "a");
  polls();
  ask(other, "b");
  runtime.reset();
  CHECK_FALSE(heard.ended());
  ChatRecord late;
  ask(late, "c");
  CHECK(late.cancelled());
  CHECK(router->abort("a"));
  router.reset();
  CHECK(heard.cancelled());
  CHECK(other.cancelled());
}

TEST_CASE_METHOD(Fixture, "a stop in a back-off does not reach the attempt before it", "[llm][router][A9]") {
  FakeClient model(*runtime);
  options.routes = {{.client = &model}};
  make();
  ask(heard);
  FakeClient::finish(model.call(0), ChatOutcome::failed(cut));
  CHECK(router->abort("a"));
  CHECK(idle());
  CHECK(heard.cancelled());
  CHECK_FALSE(model.call(0).stop.stop_requested());
}
