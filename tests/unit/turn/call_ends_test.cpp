// After the end of a tool call no question of that call is open, and no timer runs.
#include "support/tool_turn.hpp"

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
  CHECK(asking.stop().stopped);
  t.settle();
  t.check_both_closed();
  t.held.calls[0].done(ToolResult::failed("stopped"));
  t.settle();
}

TEST_CASE("the time-out of a call closes all of its questions", "[turn][questions][G15]") {
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
  CHECK(t["a"].stop().stopped);
  t.settle();
  t.held.calls.at(0).done(ToolResult::failed("stopped"));
  t.settle();
  CHECK_FALSE(t.runtime->next_deadline());
}

TEST_CASE("no timer of a background task or of a question outlives it", "[turn][background][G13]") {
  ToolTurn t;
  t.tools->add({{.name = "bg", .mode = ToolMode::async}, t.held.start()});
  t.ask(t.agent({.background_tasks = 1}));
  t.call({{.id = "x", .name = "bg"}});
  t.answer("begun");
  CHECK(t.runtime->next_deadline());
  t.held.calls.at(0).context.ask({.text = "Why?", .timeout = std::chrono::seconds(1)}, [](const Answer&) {});
  t.held.calls.at(0).done(ToolResult::done("done"));
  t.settle();
  CHECK_FALSE(t.runtime->next_deadline());
}
