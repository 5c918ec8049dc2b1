// The deadline of a turn: it ends the turn in whatever phase it is, and the agent goes on.
#include "support/drive/tool_turn.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/observe/strict_history.hpp"
#include "turn/turn_deadline.hpp"

#include <agentcore/llm_router.hpp>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* too_long =
    "the turn took longer than AgentSpec::limits.turn_timeout (10 s); if turns may take longer, set a longer "
    "one";

struct Deadline : ToolTurn {
  using ToolTurn::ToolTurn;

  // The agent "a", whose turns have ten seconds.
  Agent limited(AgentSpec spec = {}) {
    spec.limits.turn_timeout = 10s;
    return agent(std::move(spec));
  }
  TimePoint in(Duration time) const { return clock.now() + time; }
  bool failed_at_deadline() {
    return result && result->outcome == TurnOutcome::failed && error.code == Errc::deadline_exceeded;
  }
  // The last turn of "a" has ended at its deadline, nothing of it runs, and the agent takes messages.
  void check_over() {
    REQUIRE(failed_at_deadline());
    CHECK(error.message == too_long);
    CHECK(state("a") == AgentState::idle);
    CHECK(refusal((*this)["a"].conversation().value()).empty());
    CHECK(is_valid_history((*this)["a"].conversation().value()));
    CHECK(seen.count("ended a 1 failed") == 1);
    ask((*this)["a"], "next");
    CHECK(seen.index("ended a 1 failed") < seen.index("started a 2"));
    answer("fine");
    CHECK(result->outcome == TurnOutcome::completed);
    CHECK(llm->histories_were_valid());
  }
};

}  // namespace

TEST_CASE("a deadline ends a model call and the agent goes on", "[turn][deadline][X53][G5]") {
  for (const OnStop how : {OnStop::post, OnStop::at_once, OnStop::deaf}) {
    Deadline t;
    t.llm->on_stop = how;
    const Agent agent = t.limited();
    t.ask(agent);
    CHECK(t.llm->call(0).request.deadline == t.in(10s));
    t.llm->delta("a", "par");
    CHECK(agent.send("two"));
    t.advance(9999ms);
    CHECK(t.seen.count("ended") == 0);
    CHECK_FALSE(t.llm->call(0).stop.stop_requested());
    t.advance(1ms);
    CHECK(t.llm->call(0).stop.stop_requested());
    REQUIRE(t.failed_at_deadline());
    CHECK(t.error.message == too_long);
    CHECK(t.result->text.empty());
    CHECK(t.seen.count("a waiting_llm>idle") == 1);
    CHECK(t.logged("info a turn ended at its deadline agent=a"));
    // The next message begins at once, also while the client of the first call ignores its stop token.
    CHECK(t.state("a") == AgentState::waiting_llm);
    CHECK(t.llm->call(1).request.deadline == t.in(10s));
    t.advance(5s);
    CHECK(t.seen.count("abandoned a model call") == (how == OnStop::deaf ? 1 : 0));
    t.llm->complete(t.llm->call(1));
    t.settle();
    CHECK(t.history() == "user:question!failed, user:two, assistant:");
    CHECK_FALSE(t.runtime->next_deadline());
  }
}

TEST_CASE("a text that comes after the deadline is told as discarded after the end of its turn",
          "[turn][deadline][late][X53][G7]") {
  Deadline t;
  t.llm->on_stop = OnStop::at_once;  // the outcome comes while the call is being cut
  const Agent agent = t.limited();
  t.ask(agent);
  t.clock.advance(10s);
  t.llm->delta("a", "late");  // before the loop has noticed the deadline
  t.settle();
  REQUIRE(t.failed_at_deadline());
  REQUIRE(t.seen.count("discarded a 1 text") == 1);
  CHECK(t.seen.index("ended a 1 failed") < t.seen.index("discarded a 1 text"));
}

TEST_CASE("the earlier one of the two limits is the deadline of a turn", "[turn][deadline][X53]") {
  struct Case {
    Duration timeout;
    std::optional<Duration> deadline;  // of the message, after it was sent
    std::optional<Duration> end;
    std::string text;
  };
  const std::string of_message =
      "the turn was not over at SendOptions::deadline (1500 ms after it began); if it may take longer, set a "
      "later one";
  for (const Case& each :
       {Case{10s, {}, 10s, too_long}, Case{10s, 11s, 10s, too_long}, Case{10s, 1500ms, 1500ms, of_message},
        Case{no_limit, 1500ms, 1500ms, of_message}, Case{no_limit, {}, {}, {}},
        Case{Duration::max() - 1ns, 1500ms, 1500ms, of_message}}) {
    Deadline t;
    t.clock.advance(1h);
    const Agent agent = t.agent({.limits = {.turn_timeout = each.timeout}});
    SendOptions options;
    if (each.deadline) options.deadline = t.in(*each.deadline);
    REQUIRE(agent.send("question", std::move(options)));
    t.settle();
    const std::optional<TimePoint> asked = t.llm->call(0).request.deadline;
    REQUIRE(asked.has_value() == each.end.has_value());
    if (!each.end) continue;
    CHECK(*asked == t.in(*each.end));
    CHECK(t.runtime->next_deadline() == asked);
    t.advance(*each.end - 1ns);
    CHECK_FALSE(t.result);
    t.advance(1ns);
    REQUIRE(t.failed_at_deadline());
    CHECK(t.error.message == each.text);
  }
}

TEST_CASE("a deadline of no_limit is none", "[turn][deadline]") {
  Deadline t;
  REQUIRE(t.agent().send("question", {.deadline = no_limit}));
  t.settle();
  CHECK_FALSE(t.llm->call(0).request.deadline);
  CHECK_FALSE(t.runtime->next_deadline());
}

TEST_CASE("a deadline ends tool calls and the model reads what became of them",
          "[turn][deadline][X53][G8][G9]") {
  Deadline t;
  const Agent agent = t.limited();
  t.ask(agent);
  t.call({add_call("", 1, 2), {.name = "held"}, {.name = "held"}});
  REQUIRE(t.held.calls.size() == 1);
  const ToolContext context = t.held.calls[0].context;
  CHECK(context.deadline() == t.in(10s));
  t.advance(10s);
  CHECK(context.stop().stop_requested());
  REQUIRE(t.failed_at_deadline());
  REQUIRE(t.result->calls.size() == 3);
  CHECK(t.result->calls[0].outcome == ToolOutcome::completed);
  CHECK(t.result->calls[1].outcome == ToolOutcome::interrupted);
  CHECK(t.result->calls[2].outcome == ToolOutcome::not_started);
  CHECK(t.seen.count("tool-end a call_1_2 interrupted failed") == 1);
  CHECK(t.history().starts_with("user:question!failed, assistant:"));
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.seen.with("discarded").size() == 1);
  t.check_over();
  CHECK(t.seen.count("abandoned") == 0);
}

TEST_CASE("a tool that ignores the deadline is given up while its agent works on",
          "[turn][deadline][X53][G5]") {
  Deadline t;
  const Agent agent = t.limited();
  t.ask(agent);
  t.call({{.name = "held"}});
  t.advance(10s);
  REQUIRE(t.failed_at_deadline());
  t.ask(agent, "next");
  t.advance(4999ms);
  CHECK(t.seen.count("abandoned") == 0);
  t.advance(1ms);
  CHECK(t.seen.count("abandoned a tool call held") == 1);
  CHECK(t.state("a") == AgentState::waiting_llm);
  t.held.calls[0].done(ToolResult::done("very late"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
  t.answer("fine");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(t.tree->tasks().empty());
}

TEST_CASE("a deadline ends a question to a person", "[turn][deadline][X53][G5]") {
  Deadline t;
  t.tools->add(make_ask_human_tool());
  const Agent agent = t.limited();
  t.ask(agent);
  t.call({{.name = "ask_human", .arguments = R"({"question":"Which?"})"}});
  REQUIRE(t.tree->questions().size() == 1);
  const std::string id = t.tree->questions()[0].id;
  SECTION("in time") {
    t.advance(10s);
  }
  SECTION("the loop is late") {
    t.clock.advance(10s);
    CHECK(t.tree->answer(id, "this").code() == Errc::question_closed);
    t.settle();
  }
  CHECK(t.tree->questions().empty());
  CHECK(t.seen.count("closed a " + id + " cancelled") == 1);
  CHECK(t.seen.count("closed") == 1);
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::interrupted);
  t.check_over();
}

TEST_CASE("a deadline ends the wait for an approval", "[turn][deadline][X53][G5]") {
  Deadline t;
  t.tools->add({{.name = "careful", .needs_approval = true}, t.held.start()});
  const Agent agent = t.limited();
  t.ask(agent);
  t.call({{.name = "careful"}});
  REQUIRE(t.tree->questions().size() == 1);
  const std::string id = t.tree->questions()[0].id;
  SECTION("in time") {
    t.advance(10s);
  }
  SECTION("the loop is late") {
    t.clock.advance(11s);
    CHECK(t.tree->approve(id).code() == Errc::question_closed);
    t.settle();
  }
  CHECK(t.held.calls.empty());
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
  CHECK(t.tree->questions().empty());
  CHECK(t.tree->tasks().empty());
  t.check_over();
}

TEST_CASE("a time-out of a tool or a question before the deadline leaves the turn alone",
          "[turn][deadline]") {
  Deadline t({.question_timeout = 3s});
  t.tools->add({{.name = "short", .timeout = 2s}, t.held.start()});
  t.tools->add(make_ask_human_tool());
  const Agent agent = t.limited();
  t.ask(agent);
  t.call({{.name = "short"}, {.name = "ask_human", .arguments = R"({"question":"Which?"})"}});
  CHECK(t.held.calls.at(0).context.deadline() == t.in(2s));
  t.advance(2s);
  CHECK(t.seen.count("tool-end a call_1_1 interrupted failed") == 1);
  t.advance(3s);
  CHECK(t.seen.count("closed a") == 1);
  CHECK(t.state("a") == AgentState::waiting_llm);
  t.answer("fine");
  CHECK(t.result->outcome == TurnOutcome::completed);
}

TEST_CASE("a deadline ends the wait for a slot and a back-off of the router", "[turn][deadline][X53][G5]") {
  Deadline t;
  const bool backs_off = GENERATE(true, false);
  RouterOptions options;
  options.routes = {{.client = t.llm.get()}};
  options.limits.total = 1;
  // The client has an attempt only after a pause that ends just before the deadline.
  options.retry.backoff = [](std::uint32_t, const ChatError&) { return Duration(9s); };
  LlmRouter router(*t.runtime, std::move(options));
  const Agent other = t.root("other", {.llm = &router});
  if (!backs_off) t.ask(other);
  const Agent agent = t.limited({.llm = &router});
  t.ask(agent);
  if (backs_off) {
    t.advance(500ms);
    FakeClient::finish(*t.llm->find("a"), ChatOutcome::failed({Errc::network_error, "cut", 0, true}));
    t.settle();
    CHECK(t.state("a") == AgentState::waiting_llm);
    CHECK_FALSE(t.llm->find("a"));
    t.clock.advance(9s);  // the loop sleeps through the back-off, and beyond the deadline
    t.clock.advance(1s);
    t.settle();
  } else {
    CHECK(router.call_slots().waiting() == 1);
    t.advance(10s);
  }
  REQUIRE(t.failed_at_deadline());
  CHECK(router.call_slots().waiting() == 0);
  CHECK(router.open_calls() == (backs_off ? 0U : 1U));
  CHECK(t.llm->calls() == 1);
  CHECK(t.state("a") == AgentState::idle);
  t.tree.reset();
}

TEST_CASE("a back-off that would end after the deadline of the turn fails it at once",
          "[turn][deadline][X21]") {
  Deadline t;
  RouterOptions options;
  options.routes = {{.client = t.llm.get()}};
  options.retry.backoff = [](std::uint32_t, const ChatError&) { return Duration(10s); };
  LlmRouter router(*t.runtime, std::move(options));
  const Agent agent = t.limited({.llm = &router});
  t.ask(agent);
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::failed({Errc::network_error, "cut", 0, true}));
  t.settle();
  REQUIRE(t.failed_at_deadline());
  CHECK(t.error.message == "The call's deadline passed; its last attempt had failed: cut");
  CHECK_FALSE(t.runtime->next_deadline());
  t.tree.reset();
}

TEST_CASE("nothing of a turn begins after its deadline when the loop is late", "[turn][deadline][X53][G1]") {
  Deadline t;
  const Agent agent = t.limited();
  t.ask(agent);
  SECTION("an answer with a tool call") {
    t.clock.advance(10s);
    t.llm->delta("a", "late");
    t.llm->call_tools("a", {{.name = "held"}});
    CHECK(t.seen.count("delta") == 0);
    CHECK(t.held.calls.empty());
    CHECK(t.seen.count("discarded a 1 answer") == 1);
  }
  SECTION("an answer in words") {
    t.clock.advance(10s);
    t.llm->answer("a", "late");
    CHECK(t.result->text.empty());
  }
  SECTION("a failure") {
    t.clock.advance(10s);
    t.llm->fail("a", Errc::api_error);
  }
  SECTION("a result of a tool") {
    t.call({{.name = "held"}, {.name = "held"}});
    t.clock.advance(10s);
    t.held.calls.at(0).context.progress("late");
    t.held.calls.at(0).done(ToolResult::done("late"));
    t.settle();
    CHECK(t.held.calls.size() == 1);
    CHECK(t.seen.count("progress") == 0);
    CHECK(t.llm->calls() == 1);
    CHECK(t.result->calls.at(0).outcome == ToolOutcome::interrupted);
    CHECK(t.result->calls.at(1).outcome == ToolOutcome::not_started);
  }
  SECTION("a cancelled call") {
    t.call({{.id = "x", .name = "held"}});
    t.clock.advance(10s);
    CHECK(agent.cancel_call("x").took_effect());
    t.settle();
    CHECK(t.llm->calls() == 1);
  }
  SECTION("a slow observer") {
    const auto starts = t.tree->on<ToolStarted>([&](const ToolStarted&) { t.clock.advance(10s); });
    t.call({{.name = "held"}});
    CHECK(t.held.calls.empty());
    CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
  }
  SECTION("a slow observer of the answer") {
    const auto states = t.tree->on<StateChanged>([&](const StateChanged& change) {
      if (change.to == AgentState::processing) t.clock.advance(10s);
    });
    t.call({{.name = "held"}});
    CHECK(t.seen.count("tool ") == 0);
    CHECK(t.result->calls.empty());
  }
  CHECK(t.failed_at_deadline());  // whether or not the timer has been noticed
  t.settle();
  t.check_over();
}

TEST_CASE("a turn without time fails before its model call", "[turn][deadline][X53]") {
  Deadline t;
  const Agent agent = t.agent({.limits = {.turn_timeout = Duration(0)}});
  REQUIRE(agent.send("question"));
  t.settle();
  CHECK(t.llm->calls() == 0);
  REQUIRE(t.failed_at_deadline());
  CHECK(agent.spent()->turns == 0);
  CHECK(t.history() == "user:question!failed");
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("an agent may have a time-out of its turns and nothing else", "[turn][deadline]") {
  TreeFixture t;
  t.ask(t.root("a", {.limits = {.turn_timeout = 10s}}));
  t.advance(10s);
  CHECK(t.seen.count("ended a 1 failed") == 1);
}

TEST_CASE("a deadline leaves children and background tasks alone", "[turn][deadline][X53]") {
  Deadline t;
  t.tools->add({{.name = "later", .mode = ToolMode::async}, t.held.start()});
  const Agent agent = t.limited({.limits = {.background_tasks = 1}});
  const Agent child = t.child(agent, "child");
  t.ask(child);
  t.ask(agent);
  t.call({{.name = "later"}, {.name = "held"}});
  REQUIRE(t.held.calls.size() == 2);
  CHECK(t.held.calls[0].context.deadline() != t.held.calls[1].context.deadline());
  t.advance(10s);
  REQUIRE(t.failed_at_deadline());
  CHECK_FALSE(t.held.calls[0].context.stop().stop_requested());
  CHECK(t.held.calls[1].context.stop().stop_requested());
  CHECK(t.state("child") == AgentState::waiting_llm);
  t.held.calls[0].done(ToolResult::done("ready"));
  t.settle();
  CHECK(t.seen.count("task a later completed") == 1);
}

TEST_CASE("a verb before the deadline decides how the turn ends", "[turn][deadline][G10]") {
  Deadline t;
  const Agent agent = t.limited();
  t.ask(agent);
  t.call({{.name = "held"}});
  const std::string verb = GENERATE("interrupt", "stop");
  t.clock.advance(10s);
  CHECK((verb == "stop" ? agent.stop() : agent.interrupt()).took_effect());
  t.settle();
  REQUIRE(t.result);
  CHECK(t.result->outcome == (verb == "stop" ? TurnOutcome::stopped : TurnOutcome::interrupted));
  CHECK(t.seen.with("ended").size() == 1);
}

TEST_CASE("a verb after the deadline finds the turn over", "[turn][deadline][G10]") {
  Deadline t;
  const Agent agent = t.limited();
  VerbResult interrupt, abort;
  const auto ends = t.tree->on<TurnEnded>([&](const TurnEnded&) {
    interrupt = agent.interrupt();
    abort = agent.abort();
  });
  t.ask(agent);
  t.advance(10s);
  CHECK(interrupt.reason == Errc::turn_over);
  CHECK(abort.reason == Errc::not_waiting_llm);
  CHECK(t.failed_at_deadline());
}

TEST_CASE("observers of a deadline may destroy the tree or stop the agent", "[turn][deadline][G16]") {
  const std::string act = GENERATE("destroy", "stop", "send");
  Deadline t;
  t.check_at_end = act != "destroy";
  const Agent agent = t.limited();
  const auto ends = t.tree->on<TurnEnded>([&](const TurnEnded&) {
    if (act == "destroy") t.tree.reset();
    if (act == "stop") CHECK(agent.stop().took_effect());
    if (act == "send") CHECK(agent.send("next"));
  });
  t.ask(agent);
  t.call({{.name = "held"}});
  t.advance(10s);
  t.advance(10s);
  if (act == "destroy") CHECK_FALSE(agent.exists());
  if (act == "stop") CHECK(t.state("a") == AgentState::stopped);
  if (act == "send") CHECK(t.seen.count("started a 2") == 1);
}

TEST_CASE("a simulated turn has a deadline and a handler is not ended by one", "[turn][deadline]") {
  Deadline t;
  const Agent agent = t.limited();
  CHECK(agent.simulate(R"(<tool_call>{"name":"held"}</tool_call>)"));
  t.settle();
  REQUIRE(t.held.calls.size() == 1);
  t.advance(10s);
  CHECK(t.failed_at_deadline());
  CHECK(t.held.calls[0].context.stop().stop_requested());

  const Agent handled = t.root("b", {.handler = [&](const Agent&, const Message&) { t.clock.advance(1min); },
                                     .limits = {.turn_timeout = 10s}});
  CHECK(handled.send("x", {.deadline = t.in(20s)}));
  t.settle();
  CHECK(t.seen.count("ended b 1 completed") == 1);
}

TEST_CASE("a change of the agent keeps the time-out of its turns", "[turn][deadline]") {
  Deadline t;
  const Agent agent = t.limited();
  t.ask(agent);
  t.advance(6s);
  CHECK(agent.set_model("other").has_value());
  t.advance(4s);
  CHECK(t.failed_at_deadline());
  t.ask(agent);
  CHECK(t.llm->find("a")->request.deadline == t.in(10s));
}

TEST_CASE("a turn without a deadline reads no clock", "[turn][deadline]") {
  Deadline t;
  t.ask(t.agent());
  t.clock.set_tick(1ns);  // counts the reads
  const TimePoint before = t.clock.now();
  for (int i = 0; i < 10; ++i) t.llm->delta("a", "x");
  CHECK(t.clock.now() - before == 1ns);
  t.clock.set_tick(Duration(0));
  t.answer("");
}

TEST_CASE("a deadline that passes without memory ends the turn all the same", "[turn][deadline][G10]") {
  for (std::size_t at = 1; at < 16; ++at) {
    INFO(at);
    Deadline t;
    const Agent agent = t.limited();
    t.ask(agent);
    t.call({{.name = "held"}});
    t.clock.advance(10s);
    {
      const FailingAllocation failing(at, 1);
      t.poll();
    }
    t.settle();
    CHECK(t.failed_at_deadline());
    CHECK(t.state("a") == AgentState::idle);
    CHECK(t.seen.with("ended").size() == 1);
  }
}

TEST_CASE("of two limits of a turn the earlier one is named, and of equal ones that of the message",
          "[turn][deadline][X53]") {
  const Duration of_message = GENERATE(as<Duration>{}, 9s, 10s, 11s);
  Deadline t;
  const Agent agent = t.limited();
  CHECK(agent.send("question", {.deadline = t.in(of_message)}));
  t.settle();
  t.advance(10s);
  REQUIRE(t.failed_at_deadline());
  CHECK((t.error.message == too_long) == (of_message > 10s));
  CHECK((t.error.message.find("SendOptions::deadline") != std::string::npos) == (of_message <= 10s));
}

TEST_CASE("a duration is written in seconds where it has whole ones", "[turn][deadline]") {
  using detail::turn::text_of;
  CHECK(text_of(Duration(0)) == "0 s");
  CHECK(text_of(Duration(1ms)) == "1 ms");
  CHECK(text_of(Duration(999ms)) == "999 ms");
  CHECK(text_of(Duration(1s)) == "1 s");
  CHECK(text_of(Duration(1001ms)) == "1001 ms");
  CHECK(text_of(Duration(90s)) == "90 s");
}
