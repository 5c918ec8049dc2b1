// After the end of a tool call no question of that call is open, and no timer runs.
#include "support/drive/tool_turn.hpp"

using namespace agentcore;
using namespace agentcore::test;

namespace {

struct Asking : ToolTurn {
  std::vector<QuestionOutcome> closed;

  // Begins a call of `held`, which asks two questions.
  Agent begin(AgentSpec spec = {}) {
    const Agent asking = agent(std::move(spec));
    ask(asking);
    call({{.id = "x", .name = "held"}});
    REQUIRE(held.calls.size() == 1);
    for (const char* const text : {"Why?", "When?"})
      held.calls[0].context.ask({.text = text}, [this](const Answer& a) { closed.push_back(a.outcome); });
    settle();
    REQUIRE(tree->questions().size() == 2);
    return asking;
  }
  void check_both_closed() {
    CHECK(closed == std::vector{QuestionOutcome::cancelled, QuestionOutcome::cancelled});
    CHECK(seen.count("closed a q_1 cancelled") == 1);
    CHECK(seen.count("closed a q_2 cancelled") == 1);
    CHECK(tree->questions().empty());
  }
};

}  // namespace

TEST_CASE("the end of a call closes all of its questions", "[turn][questions][I15]") {
  Asking t;
  t.begin();
  t.held.calls[0].done(ToolResult::done("without you"));
  t.settle();
  t.check_both_closed();
}

TEST_CASE("a stop closes all questions of a call", "[turn][questions][G5][C14]") {
  Asking t;
  const Agent asking = t.begin();
  CHECK(asking.stop().took_effect());
  t.settle();
  t.check_both_closed();
  t.held.calls[0].done(ToolResult::failed("stopped"));
  t.settle();
}

TEST_CASE("the time-out of a tool call closes all of its questions", "[turn][questions][G15]") {
  Asking t;
  t.begin();
  t.advance(std::chrono::minutes(11));
  t.check_both_closed();
  CHECK(t.llm->calls() == 2);  // the turn goes on
  t.held.calls[0].done(ToolResult::failed("late"));
  t.settle();
}

TEST_CASE("no timer of a tool call outlives it", "[turn][tools][G13]") {
  ToolTurn t;
  t.ask(t.agent());
  CHECK_FALSE(t.runtime->next_deadline());
  t.call({{.id = "x", .name = "held"}});
  CHECK(t.runtime->next_deadline());
  t.held.calls.at(0).done(ToolResult::done("done"));
  t.settle();
  CHECK_FALSE(t.runtime->next_deadline());
  t.answer("answer");
  CHECK_FALSE(t.runtime->next_deadline());
}

TEST_CASE("no timer of a tool call outlives a stop of its agent", "[turn][tools][G13]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  CHECK(t["a"].stop().took_effect());
  t.settle();
  t.held.calls.at(0).done(ToolResult::failed("stopped"));
  t.settle();
  CHECK_FALSE(t.runtime->next_deadline());
}

TEST_CASE("no timer of a background task or of a question outlives it", "[turn][background][G13]") {
  ToolTurn t;
  t.tools->add({{.name = "bg", .mode = ToolMode::async}, t.held.start()});
  t.ask(t.agent({.limits = {.background_tasks = 1}}));
  t.call({{.id = "x", .name = "bg"}});
  t.answer("begun");
  CHECK(t.runtime->next_deadline());
  t.held.calls.at(0).context.ask({.text = "Why?", .timeout = std::chrono::seconds(1)}, [](const Answer&) {});
  t.held.calls.at(0).done(ToolResult::done("done"));
  t.settle();
  CHECK_FALSE(t.runtime->next_deadline());
}

TEST_CASE("a tool that fails because of a stop leaves its turn stopped", "[turn][tools][I11]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  REQUIRE(t.held.calls.size() == 1);
  const std::stop_callback fails(t.held.calls[0].context.stop(),
                                 [&t] { t.held.calls[0].done(ToolResult::failed("interrupted")); });
  CHECK(t["a"].stop().took_effect());
  t.settle();
  CHECK(t.seen.count("ended a 1 stopped") == 1);
  CHECK(t.seen.count("ended a 1") == 1);
  CHECK(t.result->error.message == "Task terminated by user");
}

TEST_CASE("a client that fails because of a stop leaves its turn stopped", "[turn][I11]") {
  ToolTurn t;
  t.llm->on_stop = OnStop::deaf;
  t.ask(t.agent());
  FakeClient::Call& call = t.llm->call(0);
  const std::stop_callback fails(call.stop, [&call] {
    FakeClient::finish(call, ChatOutcome::failed({Errc::network_error, "cut"}));
  });
  CHECK(t["a"].stop().took_effect());
  t.settle();
  CHECK(t.seen.count("ended a 1 stopped") == 1);
  CHECK(t.seen.count("ended a 1") == 1);
}

TEST_CASE("a stop ends the calls of a turn and reports it and closes the questions of these calls",
          "[turn][questions][I3]") {
  Asking t;
  const Agent asking = t.begin();
  CHECK(t.tree->tasks().size() == 2);  // the turn and its call
  CHECK(asking.stop().took_effect());
  t.settle();
  CHECK(t.held.calls[0].context.stop().stop_requested());
  t.held.calls[0].done(ToolResult::failed("stopped"));
  t.settle();
  CHECK(t.tree->tasks().empty());
  CHECK(t.seen.count("ended a 1 stopped") == 1);
  CHECK(t.result->outcome == TurnOutcome::stopped);
  t.check_both_closed();
}

TEST_CASE("the end of a call closes its questions however many there are, and no others",
          "[turn][questions][I15]") {
  ToolTurn t;
  t.ask(t.agent({.limits = {.parallel_tools = 2}}));
  t.call({{.id = "x", .name = "held"}, {.id = "y", .name = "held"}});
  REQUIRE(t.held.calls.size() == 2);
  std::size_t closed = 0;
  for (int i = 0; i < 7; ++i)
    t.held.calls[i % 2 == 0 ? 0 : 1].context.ask({.text = "Which?"}, [&](const Answer&) { ++closed; });
  t.settle();
  REQUIRE(t.tree->questions().size() == 7);
  t.held.calls[0].done(ToolResult::done("ok"));
  t.settle();
  CHECK(closed == 4);
  const std::vector<OpenQuestion> left = t.tree->questions();
  REQUIRE(left.size() == 3);
  for (const OpenQuestion& question : left) CHECK(question.call_id == "y");
}
